"""Measure the time of a release: from the poll to the acknowledgement, in clock time."""

from fugu.dataflows.base.metrics import RELEASE_SECONDS, Metrics
from fugu.dataflows.kafka.source import ReleaseTimes


def counts(metrics: Metrics) -> dict[str, float]:
    """Records by bucket, and the sum of seconds."""
    return {bound: number for (_, bound), number in metrics.values(RELEASE_SECONDS).items()}


def times(metrics: Metrics) -> ReleaseTimes:
    """Acknowledgements come at 100 s."""
    return ReleaseTimes("raw", metrics, clock=lambda: 100.0)


def test_records_count_from_their_poll() -> None:
    metrics = Metrics()
    measured = times(metrics)
    measured.read(3, 99.0, 20)
    measured.read(3, 99.5, 5)
    measured.end_epoch(3)
    measured.acknowledged(3)
    assert counts(metrics) == {"1": 20, "0.5": 5, "sum": 22.5}


def test_records_of_the_next_epoch_wait_for_theirs() -> None:
    metrics = Metrics()
    measured = times(metrics)
    measured.read(3, 99.0, 20)
    measured.end_epoch(3)
    measured.read(3, 99.5, 5)
    measured.acknowledged(3)
    assert counts(metrics) == {"1": 20, "sum": 20}


def test_an_epoch_that_did_not_come_to_the_sink_is_not_measured_later() -> None:
    metrics = Metrics()
    measured = times(metrics)
    measured.read(3, 10.0, 20)
    measured.end_epoch(3)
    measured.read(3, 99.5, 5)
    measured.end_epoch(3)
    measured.acknowledged(3)
    measured.acknowledged(3)
    assert counts(metrics) == {"0.5": 5, "sum": 2.5}
