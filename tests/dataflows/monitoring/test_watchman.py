"""Say a notice in log, metrics and health: at once, once a minute, and when it is over."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from fugu.dataflows.base.metrics import NOTICE, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.monitoring.watchman import Watchman


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
