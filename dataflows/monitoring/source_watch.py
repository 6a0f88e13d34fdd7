"""Ask Kafka every few seconds where the source ends, and whether topics are the same."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from fugu.dataflows.base.errors import FuguError, KafkaUnavailable, StartRefused, type_and_place
from fugu.dataflows.base.metrics import LAG, Metrics
from fugu.dataflows.kafka.client import Bounds, Client, Reader, Topic
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.state.same_topics import SameTopics

LOOK_SECONDS = 3.0
_OPENING_SECONDS = 0.2
_ANSWER_SECONDS = 10.0
_WAITING_SECONDS = 30.0
_ALL_SECONDS, _SILENT_SECONDS, _AGAIN_SECONDS = 10.0, 3.0, 0.2
"""The time of one look at all partitions, as a new connection takes a while; and, once some are
told, for those that were silent before."""
_TOLD_AT_ONCE = 3
_ANY = 0
"""The partition that every topic has."""

Connect = Callable[[bool], Reader]
"""Gives a reader whose bounds are those of committed records, or of all."""

log = logging.getLogger(__name__)


class SourceWatch:
    """Measure the lag, when Kafka last answered, and where records wait to be read.

    It has a thread and connections of its own, so that the dataflow never waits for the answer, not
    even when Kafka is away.
    """

    def __init__(self, topic: str, metrics: Metrics, connect: Connect) -> None:
        self.topic = topic
        self.answered_at = time.monotonic()
        self.silent_since: dict[int, tuple[float, str]] = {}
        """Partitions that Kafka says nothing of, while it does of others: since when, and why."""
        self.waiting_since: dict[int, float] = {}
        """Partitions that hold unread records, and since when none of those was read."""
        self.open_since: dict[int, float] = {}
        """Partitions of which the rest stands behind an open transaction, and since when."""
        self._metrics = metrics
        self._connect = connect
        self._seen: dict[int, int] = {}
        self._failure = ""
        """Says why the last look has failed; empty if it has not."""
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="source-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; does not wait for an answer that is under way."""
        self._stopped.set()

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        topic, unanswered = self.topic, now - self.answered_at
        if unanswered > _ANSWER_SECONDS:
            why = f" ({self._failure})" if self._failure else ""
            text = f"Kafka has not answered for {unanswered:.0f} s{why}"
            yield Notice(Kind.KAFKA_AWAY, topic, None, text, still=True)
        else:
            yield from self._silent(now)
        for partition, seconds in _long(self.waiting_since, now):
            text = (
                f"topic {topic}, partition {partition}: records wait, and none was "
                f"read for {seconds:.0f} s"
            )
            yield Notice(Kind.RECORDS_WAIT, topic, partition, text, still=True)
        for partition, seconds in _long(self.open_since, now):
            text = (
                f"topic {topic}, partition {partition}: records wait behind an open "
                f"transaction of another producer, for {seconds:.0f} s. Commit or abort "
                "it, or Kafka ends it after transaction.max.timeout.ms"
            )
            yield Notice(Kind.OPEN_TRANSACTION, topic, partition, text, still=True)

    def _silent(self, now: float) -> Iterable[Notice]:
        for partition, (since, reason) in sorted(dict(self.silent_since).items()):
            if now - since > _ANSWER_SECONDS:
                text = (
                    f"topic {self.topic}, partition {partition}: Kafka has not said for "
                    f"{now - since:.0f} s where it ends ({reason}). Has it a leader? "
                    "kafka-topics.sh --describe --unavailable-partitions lists those without"
                )
                yield Notice(Kind.KAFKA_AWAY, self.topic, partition, text, still=True)

    def compare(self, ends: Mapping[int, int], all_ends: Mapping[int, int] | None = None) -> None:
        """Compare where partitions end now with what was read of them.

        `all_ends` counts what open transactions have written, too.
        """
        now = self.answered_at = time.monotonic()
        for partition, end in ends.items():
            position = self._metrics.standing.positions.get((self.topic, partition))
            if position is None:  # another process owns it by now
                self._forget(partition)
                continue
            lag, moved = max(0, end - position), position != self._seen.get(partition)
            self._metrics.put(LAG, lag, self.topic, partition)
            _note(self.waiting_since, partition, now, waits=lag > 0, moved=moved)
            behind = lag == 0 and end < (all_ends or ends)[partition]
            _note(self.open_since, partition, now, waits=behind, moved=moved)
            self._seen[partition] = position

    def _show_unowned(self, partition: int, position: int | None, bounds: Bounds) -> None:
        """Show the lag of a partition that nobody reads, behind what the group has committed."""
        self._seen[partition] = max(position or 0, bounds.start)
        self._metrics.put(LAG, max(0, bounds.end - self._seen[partition]), self.topic, partition)

    def _forget(self, partition: int) -> None:
        self._metrics.drop(LAG, self.topic, partition)
        known: dict[int, Any]
        for known in (self.waiting_since, self.open_since, self.silent_since, self._seen):
            known.pop(partition, None)

    def _run(self) -> None:
        readers: dict[bool, Reader] = {}
        while not self._stopped.is_set():
            self._try_to_look(readers)
            waits = self._partitions() or self._unowned() or self._metrics.standing.spare
            self._stopped.wait(LOOK_SECONDS if waits else _OPENING_SECONDS)
        _close(readers)

    def _try_to_look(self, readers: dict[bool, Reader]) -> None:
        try:
            for committed in (True, False):
                if committed not in readers:
                    readers[committed] = self._connect(committed)
            self._look(readers)
            self._failure = ""
        except Exception as error:  # whatever it is: Kafka has not answered
            if not self._failure and not self._stopped.is_set():
                log.warning("topic %s cannot be looked at: %s", self.topic, said(error))
            self._failure = said(error)
            _close(readers)

    def _look(self, readers: Mapping[bool, Reader]) -> None:
        read, unowned = self._partitions(), self._unowned()
        partitions = sorted({*read, *unowned})
        for partition in (self._seen.keys() | self.silent_since.keys()) - set(partitions):
            self._forget(partition)
        asked = partitions or [_ANY]  # whoever reads nothing waits for Kafka, too
        until = time.monotonic() + _ALL_SECONDS
        found, silent = self._bounds(readers, asked)
        while not found:
            if time.monotonic() > until or self._stopped.wait(_AGAIN_SECONDS):
                raise KafkaUnavailable(self._why(silent))
            found, again = self._bounds(readers, asked)
            silent |= again
        now = time.monotonic()
        for partition, reason in silent.items():
            since, _ = self.silent_since.get(partition, (now, ""))
            self.silent_since[partition] = since, reason
        for partition in found:
            self.silent_since.pop(partition, None)
        told = {one: pair for one, pair in found.items() if one not in unowned}
        ends, all_ends = ({one: pair[k].end for one, pair in told.items()} for k in (0, 1))
        self.compare(ends, all_ends)
        for partition in unowned.keys() & found.keys():
            self._show_unowned(partition, unowned[partition], found[partition][0])

    def _bounds(
        self, readers: Mapping[bool, Reader], partitions: Sequence[int]
    ) -> tuple[dict[int, tuple[Bounds, Bounds]], dict[int, str]]:
        """Return the bounds of committed records and of all, and of which partitions Kafka says
        none, and why. Those that were silent before are asked last, and hold up no others."""
        found, silent = dict[int, tuple[Bounds, Bounds]](), dict[int, str]()
        until = time.monotonic() + _SILENT_SECONDS
        told = [one for one in partitions if one not in self.silent_since]
        again = [[one] for one in partitions if one in self.silent_since]
        for asked in [told, *again] if told else again:
            if asked is not told and time.monotonic() > until:
                break
            committed = readers[True].bounds_now(asked, _ALL_SECONDS)
            answered = [one for one, bounds in committed.items() if isinstance(bounds, Bounds)]
            every = readers[False].bounds_now(answered, _ALL_SECONDS) if answered else {}
            for one, bounds in committed.items():
                other = every.get(one)
                if isinstance(bounds, Bounds) and isinstance(other, Bounds):
                    found[one] = bounds, other
                elif reason := next((it for it in (bounds, other) if isinstance(it, str)), None):
                    silent[one] = reason
        return found, silent

    def _why(self, silent: Mapping[int, str]) -> str:
        return "; ".join(
            f"topic {self.topic}, partition {partition}: {reason}"
            for partition, reason in [*silent.items()][:_TOLD_AT_ONCE]
        )

    def _partitions(self) -> list[int]:
        positions = dict(self._metrics.standing.positions)
        return sorted(partition for topic, partition in positions if topic == self.topic)

    def _unowned(self) -> dict[int, int | None]:
        """Return the positions of partitions that no process of the pipeline has."""
        read, unowned = self._partitions(), dict(self._metrics.standing.unowned)
        return {
            partition: position
            for (topic, partition), position in unowned.items()
            if topic == self.topic and partition not in read
        }


def _close(readers: dict[bool, Reader]) -> None:
    """Close readers, which after an outage may take long to find a broker that is back."""
    for reader in readers.values():
        with suppress(Exception):
            reader.close()
    readers.clear()


def _long(since: dict[int, float], now: float) -> Iterator[tuple[int, float]]:
    """Yield the partitions that have waited for long, and for how many seconds."""
    for partition, moment in sorted(dict(since).items()):
        if now - moment > _WAITING_SECONDS:
            yield partition, now - moment


def _note(since: dict[int, float], partition: int, now: float, *, waits: bool, moved: bool) -> None:
    """Remember since when records of a partition wait and none of them was read."""
    if not waits:
        since.pop(partition, None)
    elif moved:
        since[partition] = now
    else:
        since.setdefault(partition, now)


def said(error: Exception) -> str:
    """Return the text of an error, or its type and place where the text may hold anything."""
    return str(error) if isinstance(error, FuguError) else type_and_place(error)


_LOOK_SECONDS = 10.0
_BLIND_SECONDS = 60.0


@dataclass
class TopicsWatch:
    """Look at the topics of dataflows, of which `source` is the one that is read.

    A thread of its own asks, because an answer may take long where Kafka is away.

    `same` compares them with those of the start. `added` returns what is to be said of partitions
    that were added to the source, and `misused` why a topic cannot be used as it is kept now. Where
    the pipeline must not go on, `end` stops it.
    """

    client: Client
    source: str
    same: Sequence[SameTopics]
    added: Callable[[Topic], str | None] = lambda topic: None
    misused: Callable[[Topic], str | None] = lambda topic: None
    end: Callable[[], None] = lambda: None
    refusal: StartRefused | None = field(default=None, init=False)
    """Says why the pipeline was stopped."""
    _noticed: tuple[Notice, ...] = field(default=(), init=False)
    _seen_at: float = field(default_factory=time.monotonic, init=False)
    _failure: str = field(default="", init=False)
    """Says why the last look has failed; empty if it has not."""
    _stopped: Event = field(default_factory=Event, init=False)

    def start(self) -> None:
        """Begin to look, some seconds after the start has seen all topics."""
        Thread(target=self._run, name="topics-watch", daemon=True).start()

    def stop(self) -> None:
        """Look no more; does not wait for an answer that is under way."""
        self._stopped.set()

    def look(self) -> None:
        """Ask Kafka for all topics."""
        noticed = [self._other(one) for one in self.same]
        if not any(noticed):
            names = dict.fromkeys(name for one in self.same for name in one.names)
            topics = [topic for name in names if (topic := self.client.topic(name)) is not None]
            for topic in topics:
                if text := self.misused(topic):
                    self._stop(StartRefused(text))
            noticed += [self._extended(topic) for topic in topics if topic.name == self.source]
        self._noticed = tuple(notice for notice in noticed if notice is not None)
        self._seen_at, self._failure = time.monotonic(), ""

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said since the last look that succeeded, and that it is long ago."""
        yield from self._noticed
        blind = now - self._seen_at
        if self._failure and blind > _BLIND_SECONDS:
            text = (
                f"topics have not been looked at for {blind:.0f} s, so nobody would notice one "
                f"that is deleted, created again or extended: {self._failure}"
            )
            yield Notice(Kind.TOPICS_UNSEEN, self.source, None, text, still=False)

    def try_to_look(self) -> None:
        """Look; remember why that fails, and say it the first time."""
        try:
            self.look()
        except Exception as error:  # whatever it is: the next look may succeed
            if not self._failure and not self._stopped.is_set():
                log.warning("topics cannot be looked at: %s", said(error))
            self._failure = said(error)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            self.try_to_look()

    def _other(self, same: SameTopics) -> Notice | None:
        try:
            same.require()
        except StartRefused as refusal:
            self._stop(refusal)
            return Notice(Kind.TOPIC_REPLACED, same.other, None, str(refusal), still=True)
        return None

    def _extended(self, source: Topic) -> Notice | None:
        try:
            text = self.added(source)
        except StartRefused as refusal:
            self._stop(refusal)
            text = str(refusal)
        if text is None:
            return None
        return Notice(Kind.PARTITIONS_ADDED, source.name, None, text, still=False)

    def _stop(self, refusal: StartRefused) -> None:
        self.refusal = self.refusal or refusal
        self.end()
