"""Own all partitions of a consumer group while a state is moved, so that no copy runs."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import (
    CopyClient,
    CopyWriter,
    GroupMember,
    Rebalance,
    Topic,
    identity_of,
)

_PATIENCE_SECONDS = 30.0
"""Longer than the session of a copy that died."""
_PAUSE_SECONDS = 0.05


@dataclass(eq=False)
class _Heard(Rebalance):
    """Hold which partitions the group has given, and to which member."""

    partitions: set[int] = field(default_factory=set)
    member: str = ""

    def given(self, partitions: Sequence[int], member: str) -> None:
        self.partitions |= set(partitions)
        self.member = member

    def taken(self, partitions: Sequence[int]) -> None:
        self.partitions -= set(partitions)

    def lost(self) -> None:
        self.partitions.clear()


@dataclass(frozen=True)
class SoleMember:
    """Be the only member that has partitions of `topic`; `heard` follows the group."""

    member: GroupMember
    topic: Topic
    group: str
    heard: _Heard

    def wait(self) -> None:
        """Return once all partitions are owned; `StartRefused` if copies keep some of them."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._owns_all:
            self.member.poll()
            if time.monotonic() > deadline:
                raise StartRefused(
                    f"consumer group {self.group}: other members own "
                    f"{self.topic.partitions - len(self.heard.partitions)} of "
                    f"{self.topic.partitions} partitions of {self.topic.name}. Stop all copies "
                    "(kafka-consumer-groups.sh --describe --members names their hosts), and run "
                    "this again. Nothing was changed."
                )
            time.sleep(_PAUSE_SECONDS)

    def commit(self, writer: CopyWriter, positions: Mapping[int, int]) -> None:
        """Commit what was written, with positions that Kafka takes from a present member only."""
        writer.acknowledge()
        group = self.member.metadata()
        if not (self._owns_all and group.is_of(self.heard.member)):
            raise StartRefused(
                f"consumer group {self.group} has given partitions to others meanwhile. Stop all "
                "copies, and run this again; what was written does not count."
            )
        writer.send_offsets({self.topic.name: positions}, group)
        writer.commit()

    @property
    def _owns_all(self) -> bool:
        return self.heard.partitions >= set(range(self.topic.partitions))


@contextmanager
def sole_member(client: CopyClient, pipeline: str, topic: Topic) -> Iterator[SoleMember]:
    """Own all partitions of the source of a pipeline until the end of the context."""
    heard, group = _Heard(), identity_of(pipeline)
    sole = SoleMember(client.member(group, topic.name, heard), topic, group, heard)
    try:
        sole.wait()
        yield sole
    finally:
        with suppress(RuntimeError):
            sole.member.close()
