"""When a pipeline says that it does its work, and which reason it gives when it does not."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import orjson
import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.metrics import LAG, NOTICE, SNAPSHOT_AGE, Metrics
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring import source_watch
from fugu.dataflows.monitoring.figures_wait import PoliciesBehind
from fugu.dataflows.monitoring.health import Health, Snapshots, Watchman
from fugu.dataflows.monitoring.notices import Kind, Notice, Sentinel
from fugu.dataflows.monitoring.server import verdict
from fugu.dataflows.monitoring.source_watch import SourceWatch


def away(committed: bool) -> Reader:
    """Kafka cannot be reached."""
    raise KafkaUnavailable


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.put(SNAPSHOT_AGE, time.monotonic(), "raw", 0)
    return metrics


@pytest.fixture
def watch(metrics: Metrics) -> SourceWatch:
    return SourceWatch("raw", metrics, away)


@pytest.fixture
def health(metrics: Metrics) -> Health:
    return Health(Snapshots(metrics, 1.0), Watchman(metrics), StopFlag())


def problem(health: Health, *sentinels: Sentinel) -> str | None:
    """Return what health says after the watchman has looked."""
    health.watchman.look([health.snapshots, *sentinels], time.monotonic())
    return health.problem()


def test_working_pipeline_is_healthy(health: Health, watch: SourceWatch) -> None:
    assert problem(health, watch) is None
    assert health.degraded() == []
    assert health.stuck() is None


def test_a_pipeline_that_merely_has_no_input_is_well_and_says_so(
    health: Health, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    text = "topic raw, partition 0: values wait for later records; no partition has had any"
    night = [Notice(Kind.NO_INPUT, "raw", 0, text, still=False, quiet=True)]

    class Quiet:
        def notices(self, now: float) -> list[Notice]:
            return night

    for second in range(200):
        health.watchman.look([health.snapshots, Quiet()], time.monotonic() + second)
    assert (health.problem(), health.degraded(), health.waiting()) == (None, [], [text])
    page = verdict(health.problem(), health.degraded(), health.waiting())
    assert page.status == 200
    assert orjson.loads(page.content) == {"status": "ok", "waiting": [text]}
    said = [record for record in caplog.records if record.getMessage() == text]
    assert [record.levelname for record in said] == ["INFO"], "once in a night"


def test_figures_that_wait_for_policies(health: Health) -> None:
    wait = PolicyWait("town.policies")
    assert problem(health, PoliciesBehind(wait)) is None
    wait._oldest = 7, time.monotonic() - 12
    said = "figures have waited for 12 s for topic town.policies (source.policies), which is"
    assert str(problem(health, PoliciesBehind(wait))).startswith(said)
    assert health.stuck() is None


def test_starting_until_the_source_is_open() -> None:
    health = Health(Snapshots(Metrics(), 1.0), Watchman(Metrics()), StopFlag())
    assert health.problem() == "starting"
    assert health.stuck() is None


def test_stopping(health: Health) -> None:
    assert health.stop is not None
    health.stop.request()
    assert health.problem() == "stopping"
    assert health.stuck() is None


@pytest.mark.parametrize(("every", "age"), [(0.05, 12), (1.0, 12), (60.0, 602)])
def test_missing_snapshots(health: Health, metrics: Metrics, every: float, age: float) -> None:
    health.snapshots = Snapshots(metrics, every)
    metrics.put(SNAPSHOT_AGE, time.monotonic() - age, "raw", 0)
    assert problem(health) == f"no snapshot for {age} s"
    assert health.stuck() is None
    metrics.put(SNAPSHOT_AGE, time.monotonic() - age + 4, "raw", 0)
    assert problem(health) is None


def test_only_a_long_stop_asks_for_a_restart(health: Health, metrics: Metrics) -> None:
    metrics.put(SNAPSHOT_AGE, time.monotonic() - 312, "raw", 0)
    assert health.stuck() == "no snapshot for 312 s"


def test_kafka_does_not_answer(health: Health, watch: SourceWatch) -> None:
    watch.answered_at = time.monotonic() - 11
    assert problem(health, watch) == "Kafka has not answered for 11 s"
    assert health.stuck() is None


def test_records_wait(health: Health, watch: SourceWatch) -> None:
    watch.waiting_since[2] = time.monotonic() - 31
    reason = "topic raw, partition 2: records wait, and none was read for 31 s"
    assert problem(health, watch) == reason


def test_lag_is_what_is_left_to_read(metrics: Metrics, watch: SourceWatch) -> None:
    metrics.standing.positions.update({("raw", 0): 10, ("raw", 1): 20})
    watch.compare({0: 15, 1: 20})
    assert metrics.values(LAG) == {("raw", "0"): 5, ("raw", "1"): 0}


def test_lag_is_never_negative(metrics: Metrics, watch: SourceWatch) -> None:
    metrics.standing.positions["raw", 0] = 30
    watch.compare({0: 25})
    assert metrics.values(LAG) == {("raw", "0"): 0}


def test_records_wait_only_while_none_is_read(metrics: Metrics, watch: SourceWatch) -> None:
    ends = {0: 100}
    metrics.standing.positions["raw", 0] = 50
    watch.compare(ends)
    first = watch.waiting_since[0]
    watch.compare(ends)
    assert watch.waiting_since[0] == first
    metrics.standing.positions["raw", 0] = 60
    watch.compare(ends)
    assert watch.waiting_since[0] > first
    metrics.standing.positions["raw", 0] = 100
    watch.compare(ends)
    assert watch.waiting_since == {}


def test_failure_to_reach_kafka_is_no_answer_and_no_error(
    metrics: Metrics, watch: SourceWatch
) -> None:
    before = watch.answered_at
    watch.start()
    watch.stop()
    assert watch.answered_at == before
    assert metrics.values(LAG) == {}


def test_a_copy_without_a_partition_is_well_while_kafka_answers(
    health: Health, metrics: Metrics, watch: SourceWatch
) -> None:
    """It reads nothing, so nobody else would hear that Kafka answers."""
    metrics.standing.spare = True
    watch.answered_at = time.monotonic() - 3600
    reader = cast("Reader", _OfOnePartition())
    watch._look({True: reader, False: reader})
    assert problem(health, watch) is None
    assert metrics.values(LAG) == {}


class _OfOnePartition:
    """Says where the only partition of a topic ends."""

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds]:
        return {partition: {0: Bounds(0, 7)}[partition] for partition in partitions}


def test_a_log_of_partial_sums_does_not_move_the_lag_of_the_source(
    metrics: Metrics, watch: SourceWatch
) -> None:
    metrics.standing.positions["raw", 0] = 10
    metrics.standing.positions["sums", 0] = 900
    watch.compare({0: 15})
    assert metrics.values(LAG) == {("raw", "0"): 5}


def test_records_wait_behind_an_open_transaction_only_where_nothing_else_can_be_read(
    health: Health, metrics: Metrics, watch: SourceWatch
) -> None:
    metrics.standing.positions["raw", 0] = 50
    watch.compare({0: 50}, {0: 60})
    assert problem(health, watch) is None
    watch.open_since[0] -= 31
    said = "topic raw, partition 0: records wait behind an open transaction of another producer"
    assert str(problem(health, watch)).startswith(said)
    metrics.standing.positions["raw", 0] = 55
    watch.compare({0: 55}, {0: 60})
    assert problem(health, watch) is None
    watch.open_since[0] -= 31
    watch.compare({0: 60}, {0: 60})
    assert watch.open_since == {}
    assert watch.waiting_since.keys() == {0}


class _WithoutLeader:
    """Says where two partitions end, and of one that it has no leader."""

    def __init__(self) -> None:
        self.asked = list[list[int]]()

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        self.asked.append([*partitions])
        told = Bounds(0, 7 + len(self.asked))
        return {one: told if one else "LEADER_NOT_AVAILABLE" for one in partitions}


def test_a_partition_without_a_leader_is_named_and_hides_no_other_one(
    health: Health, metrics: Metrics, watch: SourceWatch
) -> None:
    metrics.standing.positions |= {("raw", 0): 3, ("raw", 1): 7, ("raw", 2): 7}
    metrics.put(LAG, 4, "raw", 0)
    double = _WithoutLeader()
    reader = cast("Reader", double)
    watch._look({True: reader, False: reader})
    first = metrics.values(LAG)
    watch._look({True: reader, False: reader})
    assert double.asked == [[0, 1, 2], [1, 2], [1, 2], [1, 2], [0]], "alone, once it is known"
    later = metrics.values(LAG)
    assert later["raw", "1"] > first["raw", "1"]
    assert problem(health, watch) is None
    since, reason = watch.silent_since[0]
    watch.silent_since[0] = since - 11, reason
    assert str(problem(health, watch)).startswith(
        "topic raw, partition 0: Kafka has not said for 11 s where it ends (LEADER_NOT_AVAILABLE)"
    )
    metrics.standing.positions.pop(("raw", 0))
    watch._look({True: reader, False: reader})
    assert problem(health, watch) is None


def test_kafka_that_does_not_answer_is_noticed_with_the_reason(
    health: Health, metrics: Metrics, watch: SourceWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the only partition that a process reads has no leader."""
    monkeypatch.setattr(source_watch, "_ALL_SECONDS", 0.1)
    metrics.standing.positions["raw", 0] = 3
    watch._connect = lambda _: cast("Reader", _WithoutLeader())
    watch._try_to_look({})
    watch.answered_at -= 11
    reason = "Kafka has not answered for 11 s (topic raw, partition 0: LEADER_NOT_AVAILABLE)"
    assert problem(health, watch) == reason


# Say a notice in log, metrics and health: at once, once a minute, and when it is over.


@dataclass
class Given:
    """Notices what a test says."""

    now: list[Notice] = field(default_factory=list)

    def notices(self, now: float) -> Iterable[Notice]:
        return self.now


WAITS = Notice(Kind.RECORDS_WAIT, "raw", 2, "records wait", still=True)
ADDED = Notice(Kind.PARTITIONS_ADDED, "raw", None, "partitions were added", still=False)


def test_a_notice_is_said_at_once_and_once_a_minute_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    given, metrics = Given([WAITS]), Metrics()
    watchman = Watchman(metrics)
    for second in range(130):
        watchman.look([given], 1_000.0 + second)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
    assert metrics.values(NOTICE) == {("records_wait", "raw", "2"): 129}
    given.now = []
    watchman.look([given], 1_130.0)
    last = caplog.records[-1]
    assert (last.levelname, last.getMessage()) == ("INFO", "over after 130 s: records wait")
    assert (getattr(last, "topic", None), getattr(last, "partition", None)) == ("raw", 2)
    assert metrics.values(NOTICE) == {("records_wait", "raw", "2"): 0}
    assert watchman.notices == []


def test_what_stands_still_comes_first() -> None:
    watchman = Watchman(Metrics())
    watchman.look([Given([ADDED]), Given([WAITS])], 0.0)
    assert watchman.notices == [WAITS, ADDED]


def test_of_several_processes_the_longest_notice_counts() -> None:
    together = Metrics()
    for seconds in (40, 90, 20):
        one = Metrics()
        one.put(NOTICE, seconds, "kafka_away", "raw", "")
        together.include(one.numbers())
    assert together.values(NOTICE) == {("kafka_away", "raw", ""): 90}
