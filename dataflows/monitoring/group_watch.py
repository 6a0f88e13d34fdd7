"""Notice that a consumer group gives partitions to nobody of Fugu.

A copy without a partition reads nothing and writes nothing, so nothing else of it shows whether it
is spare, or waits for a group that does not answer. And whoever joins under the name of a pipeline
gets partitions that nobody sanitizes then.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from fugu.dataflows.base.metrics import Standing
from fugu.dataflows.kafka.client import Group, Groups, Place
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.monitoring.source_watch import said

_LOOK_SECONDS = 5.0
_WAITING_SECONDS = 15.0
"""Longer than a group deals out what a member had that died."""
_DEALING_SECONDS = 300.0
"""A group waits for so long for members that restore, and then deals partitions out without them.
Those that have partitions read on meanwhile."""

_WHO = "kafka-consumer-groups.sh --describe --members shows who is in the group"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dealt:
    """Name a topic that a group deals out; of `partitions`, None being all there are, some member
    of Fugu's has each."""

    topic: str
    group: str
    partitions: int | None


@dataclass(frozen=True)
class _Unsettled:
    """Say since when a group has not dealt partitions out, and what it does instead; where it has
    no members, that is news for those alone who join."""

    since: float
    does: str
    patience: float
    is_empty: bool = False


class GroupWatch:
    """Look at the groups of a pipeline every few seconds.

    `standing` says what the members of this process have been told, and is told the positions of
    partitions that nobody of the pipeline has.
    """

    def __init__(
        self, dealt: Sequence[Dealt], standing: Standing, connect: Callable[[], Groups]
    ) -> None:
        self._dealt, self._standing, self._connect = dealt, standing, connect
        self._groups: Groups | None = None
        self._unsettled: dict[str, _Unsettled] = {}
        self._unowned: dict[Place, tuple[float, str]] = {}
        """Partitions that nobody of the pipeline has: since when, and who has them."""
        self._stopped = Event()

    def start(self) -> None:
        """Begin to look."""
        if self._dealt:
            Thread(target=self._run, name="group-watch", daemon=True).start()

    def stop(self) -> None:
        """Look no more; does not wait for an answer that is under way."""
        self._stopped.set()

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for dealt in self._dealt:
            text = self._waits(dealt, now)
            if text is not None:
                yield Notice(Kind.GROUP_WAITS, dealt.topic, None, text, still=True)
        groups = {dealt.topic: dealt.group for dealt in self._dealt}
        for (topic, partition), (since, owner) in sorted(self._unowned.copy().items()):
            if now - since > _WAITING_SECONDS:
                text = (
                    f"topic {topic}, partition {partition}: for {now - since:.0f} s nobody has "
                    "read it for this pipeline, because consumer group "
                    f"{groups[topic]} has given it to {owner}. {_WHO}"
                )
                yield Notice(Kind.GROUP_WAITS, topic, partition, text, still=True)

    def _waits(self, dealt: Dealt, now: float) -> str | None:
        """Say that this process waits for partitions, or that a group gives none to anybody."""
        joining = self._standing.joining.get(dealt.topic)
        unsettled = self._unsettled.get(dealt.group)
        if joining is not None and joining.error:
            does, since = f"does not let this process join ({joining.error})", joining.since
            patience = _WAITING_SECONDS
        elif unsettled is not None and not (joining is None and unsettled.is_empty):
            does, since, patience = unsettled.does, unsettled.since, unsettled.patience
        else:
            return None
        if now - since <= patience:
            return None
        return (
            f"topic {dealt.topic}: for {now - since:.0f} s consumer group {dealt.group} {does}. "
            f"No partition is given to this process meanwhile. {_WHO}"
        )

    def look(self) -> None:
        """Ask for every group once. Where Kafka does not answer at all, `kafka_away` says so."""
        if self._groups is None:
            self._groups = self._connect()
        sizes = {dealt.topic: self._groups.partitions(dealt.topic) for dealt in self._dealt}
        for name in dict.fromkeys(dealt.group for dealt in self._dealt):
            try:
                group = self._groups.group(name)
                if group.state == "settled":
                    self._settled(name, group, self._groups, sizes)
                elif group.state == "dealing":
                    self._note(name, "waits for members that do not join", _DEALING_SECONDS)
                else:
                    self._unowned_are(name, {}, {})
                    self._note(name, "has no members", _WAITING_SECONDS, is_empty=True)
            except Exception as error:  # whatever it is: the next look may succeed
                self._note(name, f"does not answer ({said(error)})", _WAITING_SECONDS)

    def _settled(self, name: str, group: Group, groups: Groups, sizes: Mapping[str, int]) -> None:
        own = {place for one in group.members if one.is_own for place in one.partitions}
        others = {
            place: f"{one.client} at {one.host}, which is no copy of it; end that member"
            for one in group.members
            if not one.is_own
            for place in one.partitions
        }
        now = time.monotonic()
        missing = {
            place: (self._unowned.get(place, (now, ""))[0], others.get(place, "nobody"))
            for place in self._places(name, sizes)
            if place not in own
        }
        late = [place for place, (since, _) in missing.items() if now - since > _WAITING_SECONDS]
        self._unowned_are(name, missing, groups.committed(name, late) if late else {})
        self._unsettled.pop(name, None)

    def _unowned_are(
        self,
        name: str,
        missing: Mapping[Place, tuple[float, str]],
        positions: Mapping[Place, int | None],
    ) -> None:
        topics = {dealt.topic for dealt in self._dealt if dealt.group == name}
        for known, found in ((self._unowned, missing), (self._standing.unowned, positions)):
            _replace(known, topics, found)

    def _places(self, name: str, sizes: Mapping[str, int]) -> Iterable[Place]:
        for dealt in self._dealt:
            if dealt.group == name:
                count = sizes[dealt.topic] if dealt.partitions is None else dealt.partitions
                yield from ((dealt.topic, partition) for partition in range(count))

    def _note(self, name: str, does: str, patience: float, *, is_empty: bool = False) -> None:
        before, since = self._unsettled.get(name), time.monotonic()
        if before is not None and (before.patience, before.is_empty) == (patience, is_empty):
            since = before.since
        self._unsettled[name] = _Unsettled(since, does, patience, is_empty)

    def _run(self) -> None:
        failed = False
        while not self._stopped.wait(_LOOK_SECONDS):
            try:
                self.look()
                failed = False
            except Exception as error:  # whatever it is: the next look may succeed
                self._unsettled.clear()
                if not failed:
                    log.warning("consumer groups cannot be looked at: %s", said(error))
                failed = True


def _replace(known: dict[Place, Any], topics: set[str], found: Mapping[Place, Any]) -> None:
    """Let what is known of some topics be what was found."""
    for place in [one for one in known if one[0] in topics and one not in found]:
        del known[place]
    known.update(found)
