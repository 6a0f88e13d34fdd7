"""A mark in the internal log covers what others wrote there, once policies are read far enough.

The readers are ones that a test moves by hand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.copies.covering import CoveringIntake, Demand
from fugu.dataflows.flows import policy_wait
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.policy_source import Covering
from fugu.dataflows.flows.policy_wait import PolicyEnd, PolicyWait
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import ReleaseTimes, StopFlag
from fugu.dataflows.stages.log_entries import COVERED_KEY, POLICIES_KEY
from tests.dataflows.flows.test_policy_wait import TOPIC, Topic, until


class Log(Topic):
    """An internal log with entries up to offset 9, to which others write."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[tuple[int, bytes]] = []

    def poll(self, max_records: int) -> list[Batch]:
        new, self.new = self.new, []
        offsets, keys = [offset for offset, _ in new], [key for _, key in new]
        nothing = [b""] * len(new)
        return [Batch(0, offsets, offsets, [*keys], [*nothing], [[] for _ in new])] if new else []


class Owner:
    """Own the topic of policies."""

    def __init__(self, log: Log) -> None:
        self.log, self.policies, self.stop = log, Topic(), StopFlag()
        self.wait, self.read = PolicyWait(TOPIC), 0
        end = PolicyEnd(self.wait, Metrics(), self.stop, lambda: self.policies, lambda: True)
        self.demand = Demand(log, self.wait, end, self.stop)

    def mark(self) -> int | None:
        return self.demand.covered_by(self.read)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    monkeypatch.setattr(policy_wait, "_LOOK_SECONDS", 0.01)
    owner = Owner(Log())
    yield owner
    owner.stop.request()


def test_who_takes_over_covers_what_is_there_once_it_has_read_to_the_end(owner: Owner) -> None:
    """Its predecessor may have died with the mark that the merge waits for."""
    until(lambda: owner.policies.asked == 1)
    assert owner.mark() is None
    owner.read = 10
    until(lambda: owner.mark() == 9)


def test_an_entry_is_covered_by_an_end_that_was_asked_for_once_it_was_read(owner: Owner) -> None:
    owner.read = 10
    until(lambda: owner.mark() == 9)
    owner.policies.end = 12
    owner.log.new = [(10, COVERED_KEY), (11, b"3"), (12, b"0"), (13, POLICIES_KEY)]
    assert owner.mark() is None
    until(lambda: owner.policies.asked == 2)
    assert owner.mark() is None
    assert owner.wait.seconds > 0
    owner.read = 12
    until(lambda: owner.mark() == 12)
    assert owner.wait.seconds == 0


def test_marks_and_changes_ask_for_no_further_mark(owner: Owner) -> None:
    owner.read = 10
    until(lambda: owner.mark() == 9)
    owner.log.new = [(10, COVERED_KEY), (11, POLICIES_KEY)]
    assert [owner.mark() for _ in range(50)] == [None] * 50
    assert owner.policies.asked == 1


def test_an_empty_log_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    log.end = 0
    owner = Owner(log)
    assert owner.wait.offset is None
    owner.demand.close()
    assert owner.stop.requested


class Read(Topic):
    """A topic of policies that is read to its end."""

    def poll(self, max_records: int) -> list[Batch]:
        return []

    def position(self, partition: int) -> int:
        return 10


@dataclass
class Place:
    partition: int = 0
    position: int = 10
    touched: bool = True
    epoch: int | None = None


class Busy(Read):
    """A topic of policies to which somebody writes all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 10

    def poll(self, max_records: int) -> list[Batch]:
        self.at += 1
        return [Batch(0, [self.at - 1], [1], [b"rule"], [b"{}"], [[]])]

    def position(self, partition: int) -> int:
        return self.at

    def epoch(self, partition: int) -> None:
        return None


def intake_over(owner: Owner, policies: Read) -> CoveringIntake:
    plan = SimpleNamespace(
        fingerprint=SimpleNamespace(source_topic=TOPIC),
        max_batch=10,
        is_ready=lambda batch: True,
        metrics=Metrics(),
    )
    times = ReleaseTimes(TOPIC, plan.metrics)
    intake = CoveringIntake(cast("PoliciesPlan", plan), cast("Reader", policies), times)
    intake._demand = owner.demand
    return intake


def test_changes_that_never_cease_hold_up_no_mark(owner: Owner) -> None:
    """Whoever may write to the topic, be it nothing but rubbish, would hold up all figures."""
    intake, own, marks = intake_over(owner, Busy()), Place(touched=False), list[int]()

    def is_marked_after_a_cut() -> bool:
        own.touched = False
        for _ in range(3):
            before = own.position
            for number, (_, batch) in enumerate(intake.next({0: own})):
                if isinstance(batch, Covering):
                    assert (number, own.position, own.touched) == (0, before, False)
                    marks.append(batch.covers)
                intake.taken_in(own, batch)
        return bool(marks)

    until(is_marked_after_a_cut)
    assert marks == [9]


def test_no_mark_is_in_a_transaction_with_changes_which_may_be_aborted(owner: Owner) -> None:
    """Somebody who has seen it there would write a copy, and the changes would never count."""
    intake, own = intake_over(owner, Read()), Place()
    until(lambda: owner.policies.asked == 1)
    assert [intake.next({0: own}) for _ in range(50)] == [[]] * 50
    own.touched = False
    marks = list[Batch]()

    def is_marked() -> bool:
        marks.extend(mark for _, mark in intake.next({0: own}))
        return bool(marks)

    until(is_marked)
    [mark] = marks
    assert isinstance(mark, Covering)
    assert mark.covers == 9
