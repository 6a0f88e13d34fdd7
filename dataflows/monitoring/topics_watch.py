"""Stop a pipeline whose topics are other ones than at the start, or are kept otherwise, and notice
that partitions became more, or that nobody says so any more.

A thread of its own asks, because an answer may take long where Kafka is away.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.monitoring.source_watch import said
from fugu.dataflows.state.same_topics import SameTopics

_LOOK_SECONDS = 10.0
_BLIND_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass
class TopicsWatch:
    """Look at the topics of dataflows, of which `source` is the one that is read.

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
