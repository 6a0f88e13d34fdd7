"""When the topic of policies is asked where it ends, what a mark may say, and what people are told.

The reader is one that a test moves by hand.
"""

import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.metrics import POLICY_WAIT, Metrics
from fugu.dataflows.flows import policy_wait
from fugu.dataflows.flows.policy_wait import PolicyEnd, PolicyWait
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.stages.log_entries import Coverage

TOPIC = "household.policies"


class Topic(Reader):
    """A topic that ends somewhere, or does not say so."""

    def __init__(self) -> None:
        self.end: int | None = 10
        self.asked = 0

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        self.asked += 1
        if self.end is None:
            raise KafkaUnavailable("nobody answers")
        return {partition: Bounds(0, self.end) for partition in partitions}

    def assign(
        self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None
    ) -> None: ...

    def poll(self, max_records: int) -> list[Batch]:
        return []

    def position(self, partition: int) -> int | None:
        return None

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        yield from ()

    def close(self) -> None: ...


class Pair:
    """Return what the merge and the reader of policies share, and how far that one has read."""

    def __init__(self) -> None:
        self.topic, self.stop, self.metrics = Topic(), StopFlag(), Metrics()
        self.wait = PolicyWait(TOPIC)
        self.position: int | None = 0
        self.is_same = True
        self._end = PolicyEnd(
            self.wait, self.metrics, self.stop, lambda: self.topic, lambda: self.is_same
        )
        self._end.start()

    def waits(self, *entries: tuple[int, int]) -> None:
        self.wait.note(Coverage(None, list(entries)))

    def mark(self) -> int | None:
        return self._end.covered_by(lambda: self.position)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    monkeypatch.setattr(policy_wait, "_LOOK_SECONDS", 0.01)
    pair = Pair()
    yield pair
    pair.stop.request()


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_nothing_is_asked_while_nothing_waits(pair: Pair) -> None:
    time.sleep(0.1)
    assert pair.topic.asked == 0
    assert pair.mark() is None


def test_a_mark_is_made_once_all_is_read_that_was_there_when_the_merge_began_to_wait(
    pair: Pair,
) -> None:
    pair.waits((7, 100), (8, 101))
    until(lambda: pair.topic.asked == 1)
    for position in (None, 0, 9):
        pair.position = position
        assert pair.mark() is None
    pair.position = 10
    until(lambda: pair.mark() == 8)
    assert pair.mark() is None
    time.sleep(0.05)
    assert pair.topic.asked == 1


def test_no_mark_is_made_by_the_end_of_a_topic_that_was_created_again(pair: Pair) -> None:
    pair.is_same, pair.topic.end, pair.position = False, 4, 10
    pair.waits((7, 100))
    until(lambda: pair.topic.asked > 1)
    assert pair.mark() is None
    assert "was deleted and created again" in pair.wait.reason


def test_each_entry_has_an_end_that_was_asked_for_after_it(pair: Pair) -> None:
    pair.waits((7, 100))
    until(lambda: pair.topic.asked == 1)
    pair.topic.end, pair.position = 20, 10
    pair.waits((7, 100), (9, 101))
    until(lambda: pair.mark() == 7)
    until(lambda: pair.topic.asked == 2)
    assert pair.mark() is None
    pair.position = 20
    until(lambda: pair.mark() == 9)


def test_somebody_who_writes_all_the_time_does_not_put_a_mark_off(pair: Pair) -> None:
    for number in range(5):
        pair.waits((number, number))
        until(lambda: pair.topic.asked > number)  # noqa: B023
        pair.topic.end, pair.position = 10 * (number + 2), 10 * (number + 1)
        until(lambda: pair.mark() == number)  # noqa: B023


def test_a_topic_that_does_not_answer_holds_figures_up_and_is_named(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_wait, "LONG_SECONDS", 0.05)
    pair.topic.end, pair.position = None, 1_000
    pair.waits((7, 100))
    until(lambda: "which does not say where it ends" in str(pair.wait.problem()))
    assert pair.mark() is None
    assert f"for topic {TOPIC} (source.policies)" in str(pair.wait.problem())
    until(lambda: pair.topic.asked > 5)
    until(lambda: pair.metrics.values(POLICY_WAIT)[TOPIC,] > 0.2)
    pair.topic.end = 1_000
    until(lambda: pair.mark() == 7)
    pair.waits()
    assert pair.wait.problem() is None
    until(lambda: pair.metrics.values(POLICY_WAIT)[TOPIC,] == 0)


def test_a_topic_that_ends_before_what_was_read_is_not_covered(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has deleted it and made it anew, and nobody knows what its new records say."""
    monkeypatch.setattr(policy_wait, "LONG_SECONDS", 0.0)
    pair.position = 10
    assert pair.mark() is None
    pair.topic.end = 3
    pair.waits((7, 100))
    until(lambda: "which ends 7 offsets before what was read" in str(pair.wait.problem()))
    assert pair.mark() is None
    pair.topic.end = 10
    until(lambda: pair.mark() == 7)


def test_how_far_reading_is_behind_is_said(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_wait, "LONG_SECONDS", 0.0)
    pair.position = 4
    pair.waits((7, 100))
    until(lambda: pair.mark() is None and "of which 6 offsets" in str(pair.wait.problem()))


def test_a_wait_counts_from_the_oldest_tick_that_waits() -> None:
    wait = PolicyWait(TOPIC)
    assert wait.seconds == 0
    wait.note(Coverage(None, [(1, 1)]))
    time.sleep(0.02)
    wait.note(Coverage(None, [(1, 1), (2, 2)]))
    assert wait.seconds > 0.02
    before = time.monotonic()
    wait.note(Coverage(None, [(2, 2)]))
    assert wait.seconds <= time.monotonic() - before
