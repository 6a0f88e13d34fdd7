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
    GroupMetadata,
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
class _Membership:
    """Be a member that has partitions of `topic`; `heard` follows the group."""

    member: GroupMember
    topic: Topic
    heard: _Heard

    @property
    def missing(self) -> int:
        """Return how many partitions others own."""
        return len(set(range(self.topic.partitions)) - self.heard.partitions)

    def metadata(self) -> GroupMetadata | None:
        """Return the membership as it is now; None unless it has all partitions."""
        group = self.member.metadata()
        return group if not self.missing and group.is_of(self.heard.member) else None


@dataclass(frozen=True)
class SoleMember:
    """Own all partitions of some topics: a member of the group for each of them."""

    group: str
    memberships: Mapping[str, _Membership]

    def of(self, topic: str) -> GroupMember:
        """Return the member that owns a topic."""
        return self.memberships[topic].member

    def wait(self) -> None:
        """Return once all partitions are owned; `StartRefused` if copies keep some of them."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while missing := [one for one in self.memberships.values() if one.missing]:
            for one in self.memberships.values():
                one.member.poll()
            if time.monotonic() > deadline:
                raise StartRefused(
                    f"consumer group {self.group}: other members own {missing[0].missing} of "
                    f"{missing[0].topic.partitions} partitions of {missing[0].topic.name}. Stop "
                    "all copies (kafka-consumer-groups.sh --describe --members names their "
                    "hosts), and run this again. Nothing was changed."
                )
            time.sleep(_PAUSE_SECONDS)

    def commit(self, writer: CopyWriter, positions: Mapping[str, Mapping[int, int]]) -> None:
        """Commit what was written, with positions that Kafka takes from present members only."""
        writer.acknowledge()
        for topic, offsets in positions.items():
            writer.send_offsets({topic: offsets}, self._present(topic))
        writer.commit()

    def _present(self, topic: str) -> GroupMetadata:
        """Return the membership for one topic, as long as nobody else owns anything."""
        present = {name: one.metadata() for name, one in self.memberships.items()}
        group = present[topic]
        if group is not None and None not in present.values():
            return group
        raise StartRefused(
            f"consumer group {self.group} has given partitions to others meanwhile. Stop all "
            "copies, and run this again; what was written does not count."
        )


@contextmanager
def sole_member(client: CopyClient, pipeline: str, *topics: Topic) -> Iterator[SoleMember]:
    """Own all partitions of topics that a pipeline reads until the end of the context."""
    group, memberships = identity_of(pipeline), dict[str, _Membership]()
    try:
        for topic in topics:
            heard = _Heard()
            member = client.member(group, topic.name, heard)
            memberships[topic.name] = _Membership(member, topic, heard)
        sole = SoleMember(group, memberships)
        sole.wait()
        yield sole
    finally:
        for one in memberships.values():
            with suppress(RuntimeError):
                one.member.close()
