"""A group that gives partitions to nobody of Fugu is noticed; a spare copy is not."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.metrics import LAG, Metrics
from fugu.dataflows.kafka.client import Bounds, Group, Groups, GroupState, Member, Place, Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.group_watch import Dealt, GroupWatch
from fugu.dataflows.monitoring.health import Health, Snapshots, Watchman
from fugu.dataflows.monitoring.source_watch import SourceWatch

GROUP, TOPIC = "fugu.heart", "raw"
PARTITIONS = 2


@dataclass
class Known(Groups):
    """Say what a test says of a group; nothing while its coordinator is away."""

    state: GroupState = "settled"
    members: dict[str, list[int]] = field(default_factory=dict)
    away: str = ""

    def group(self, name: str) -> Group:
        assert name == GROUP
        if self.away:
            raise KafkaUnavailable(self.away)
        return Group(
            self.state,
            [
                Member(
                    client,
                    "10.0.0.7",
                    client == GROUP,
                    frozenset((TOPIC, partition) for partition in partitions),
                )
                for client, partitions in self.members.items()
            ],
        )

    def committed(self, name: str, places: Sequence[Place]) -> dict[Place, int | None]:
        return {place: [None, 40][place[1]] for place in places}

    def partitions(self, topic: str) -> int:
        return PARTITIONS


@dataclass
class Watched:
    """A process of a pipeline, and what is noticed of its group."""

    metrics: Metrics = field(default_factory=Metrics)
    groups: Known = field(default_factory=Known)
    partitions: int | None = PARTITIONS

    def __post_init__(self) -> None:
        self.standing = self.metrics.standing
        dealt = [Dealt(TOPIC, GROUP, self.partitions)]
        self.watch = GroupWatch(dealt, self.standing, lambda: self.groups)

    def after(self, seconds: float) -> list[tuple[int | None, str]]:
        """Return what is noticed later, if nothing changes until then."""
        self.watch.look()
        notices = [*self.watch.notices(time.monotonic() + seconds)]
        assert all(notice.still and notice.kind == "group_waits" for notice in notices)
        return [(notice.partition, notice.text) for notice in notices]

    def health(self) -> Health:
        return Health(Snapshots(self.metrics, 1.0), Watchman(self.metrics), StopFlag())


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_group_whose_coordinator_is_away_is_the_reason_why_a_copy_does_not_begin(
    watched: Watched,
) -> None:
    watched.standing.joins(TOPIC)
    watched.groups.away = "COORDINATOR_NOT_AVAILABLE"
    assert watched.after(14) == []
    [(partition, text)] = watched.after(16)
    assert partition is None
    assert text.startswith(
        "topic raw: for 16 s consumer group fugu.heart does not answer (COORDINATOR_NOT_AVAILABLE)"
    )
    health = watched.health()
    health.watchman.look([watched.watch], time.monotonic() + 16)
    assert str(health.problem()).startswith("topic raw: for 16 s consumer group fugu.heart")
    watched.groups.away = ""
    watched.groups.members = {GROUP: [0, 1]}
    watched.standing.joined(TOPIC)
    assert watched.after(1000) == []


def test_an_error_of_joining_is_named(watched: Watched) -> None:
    watched.standing.joins(TOPIC)
    watched.standing.troubled(TOPIC, "INCONSISTENT_GROUP_PROTOCOL")
    watched.groups.state = "dealing"
    [(_, text)] = watched.after(16)
    assert "does not let this process join (INCONSISTENT_GROUP_PROTOCOL)" in text


def test_a_group_that_waits_for_a_copy_that_restores_is_given_time(watched: Watched) -> None:
    watched.standing.joins(TOPIC)
    watched.groups.state = "dealing"
    assert watched.after(200) == []
    [(_, text)] = watched.after(301)
    assert "waits for members that do not join" in text


def test_a_group_without_members_is_news_for_those_who_join(watched: Watched) -> None:
    watched.groups.state = "empty"
    assert watched.after(1000) == []
    watched.standing.joins(TOPIC)
    [(_, text)] = watched.after(16)
    assert "has no members" in text


def test_a_copy_that_has_no_partition_because_others_have_them_is_spare(watched: Watched) -> None:
    watched.standing.spare = True
    watched.groups.members = {GROUP: [0, 1]}
    assert watched.after(1000) == []
    health = watched.health()
    assert health.problem() is None
    assert health.waiting() == [
        "the consumer group has no partition for this copy; it takes over when another one ends"
    ]


@pytest.mark.parametrize("partitions", [PARTITIONS, None])
def test_a_partition_that_somebody_else_is_given_is_named_and_has_a_lag(
    partitions: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(partitions=partitions)
    watched.groups.members = {GROUP: [0], "console-consumer": [1]}
    assert watched.after(14) == []
    [(partition, text)] = watched.after(16)
    assert partition == 1
    assert text.startswith(
        "topic raw, partition 1: for 16 s nobody has read it for this pipeline, because consumer "
        "group fugu.heart has given it to console-consumer at 10.0.0.7, which is no copy of it;"
    )
    monkeypatch.setattr("fugu.dataflows.monitoring.group_watch._WAITING_SECONDS", 0.0)
    watched.after(0)
    watched.standing.positions[TOPIC, 0] = 90
    source = SourceWatch(TOPIC, watched.metrics, lambda _: reader)
    reader = cast("Reader", Hundred())
    source._look({True: reader, False: reader})
    assert watched.metrics.values(LAG) == {(TOPIC, "0"): 10, (TOPIC, "1"): 60}
    watched.groups.members = {GROUP: [0, 1]}
    assert watched.after(1000) == []
    source._look({True: reader, False: reader})
    assert watched.metrics.values(LAG) == {(TOPIC, "0"): 10}


class Hundred:
    """Says of every partition that it ends at 100, and begins at 7."""

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds]:
        return {partition: Bounds(7, 100) for partition in partitions}


def test_partitions_that_nobody_ever_read_lag_from_their_beginning_on(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fugu.dataflows.monitoring.group_watch._WAITING_SECONDS", 0.0)
    watched.groups.members = {"console-consumer": [0, 1]}
    watched.after(0)
    watched.after(0)
    source = SourceWatch(TOPIC, watched.metrics, lambda _: reader)
    reader = cast("Reader", Hundred())
    source._look({True: reader, False: reader})
    assert watched.metrics.values(LAG) == {(TOPIC, "0"): 93, (TOPIC, "1"): 60}
