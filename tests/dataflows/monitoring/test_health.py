"""When a pipeline says that it does its work, and which reason it gives when it does not."""

import time

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.metrics import LAG, SNAPSHOT_AGE, Metrics
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.health import Health
from fugu.dataflows.monitoring.source_watch import SourceWatch


def away() -> Reader:
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
def health(metrics: Metrics, watch: SourceWatch) -> Health:
    return Health(metrics, 1.0, watch, StopFlag())


def test_working_pipeline_is_healthy(health: Health) -> None:
    assert health.problem() is None
    assert health.stuck() is None


def test_figures_that_wait_for_policies(health: Health) -> None:
    health.policies = PolicyWait("town.policies")
    assert health.problem() is None
    health.policies._oldest = 7, time.monotonic() - 12
    said = "figures have waited for 12 s for topic town.policies (source.policies), which is"
    assert str(health.problem()).startswith(said)
    assert health.stuck() is None


def test_starting_until_the_source_is_open() -> None:
    assert Health(Metrics(), 1.0).problem() == "starting"
    assert Health(Metrics(), 1.0).stuck() is None


def test_stopping(health: Health) -> None:
    assert health.stop is not None
    health.stop.request()
    assert health.problem() == "stopping"
    assert health.stuck() is None


@pytest.mark.parametrize(("every", "age"), [(0.05, 12), (1.0, 12), (60.0, 602)])
def test_missing_snapshots(health: Health, metrics: Metrics, every: float, age: float) -> None:
    health.every = every
    metrics.put(SNAPSHOT_AGE, time.monotonic() - age, "raw", 0)
    assert health.problem() == f"no snapshot for {age} s"
    assert health.stuck() is None
    metrics.put(SNAPSHOT_AGE, time.monotonic() - age + 4, "raw", 0)
    assert health.problem() is None


def test_only_a_long_stop_asks_for_a_restart(health: Health, metrics: Metrics) -> None:
    metrics.put(SNAPSHOT_AGE, time.monotonic() - 312, "raw", 0)
    assert health.stuck() == "no snapshot for 312 s"


def test_kafka_does_not_answer(health: Health, watch: SourceWatch) -> None:
    watch.answered_at = time.monotonic() - 11
    assert health.problem() == "Kafka has not answered for 11 s"
    assert health.stuck() is None


def test_records_wait(health: Health, watch: SourceWatch) -> None:
    watch.waiting_since[2] = time.monotonic() - 31
    reason = "topic raw, partition 2: records wait, and none was read for 31 s"
    assert health.problem() == reason


def test_lag_is_what_is_left_to_read(metrics: Metrics, watch: SourceWatch) -> None:
    metrics.positions.update({0: 10, 1: 20})
    watch.compare({0: 15, 1: 20})
    assert metrics.values(LAG) == {("raw", "0"): 5, ("raw", "1"): 0}


def test_lag_is_never_negative(metrics: Metrics, watch: SourceWatch) -> None:
    metrics.positions[0] = 30
    watch.compare({0: 25})
    assert metrics.values(LAG) == {("raw", "0"): 0}


def test_records_wait_only_while_none_is_read(metrics: Metrics, watch: SourceWatch) -> None:
    ends = {0: 100}
    metrics.positions[0] = 50
    watch.compare(ends)
    first = watch.waiting_since[0]
    watch.compare(ends)
    assert watch.waiting_since[0] == first
    metrics.positions[0] = 60
    watch.compare(ends)
    assert watch.waiting_since[0] > first
    metrics.positions[0] = 100
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
