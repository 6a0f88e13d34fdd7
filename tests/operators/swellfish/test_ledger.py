"""Ledgers of intervals: caps that hold whatever is spent, and what they are written as."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.swellfish.ledger import Ledger, decoded, encoded, opened
from fugu.operators.swellfish.relevance import Interval
from tests.operators.swellfish.fixed_timeline import FixedTimeline, random_timeline

CAPS = (10**12, 12_347)
Spending = Callable[[list[Ledger], int, int], int]


def proposed(ledgers: list[Ledger], tick: int, cap: int) -> int:
    return min(ledger.proposal(tick, cap) for ledger in ledgers)


def shared(ledgers: list[Ledger], tick: int, cap: int) -> int:
    return min(ledger.share(cap) for ledger in ledgers)


def everything(ledgers: list[Ledger], tick: int, cap: int) -> int:
    return min(ledger.headroom(cap) for ledger in ledgers)


def spent(
    timeline: FixedTimeline, spending: Spending, cap: int, wishes: np.random.Generator | None
) -> dict[int, int]:
    """Return what every tick was charged, with a coin for each that says whether to sample."""
    ledgers: list[Ledger] = []
    charges: dict[int, int] = {}
    for tick in range(timeline.ticks):
        ledgers = opened(ledgers, timeline.relevance(tick, b"").intervals, tick)
        if ledgers and (wishes is None or wishes.random() < 0.6):
            charge = spending(ledgers, tick, cap)
            if charge:
                ledgers = [ledger.spend(charge, cap) for ledger in ledgers]
                charges[tick] = charge
    return charges


def total(charges: dict[int, int], interval: Interval) -> int:
    """Add up the `affected` largest of what every tick was charged."""
    within = sorted(charges.get(tick, 0) for tick in range(interval.start, interval.end + 1))
    return sum(within[-interval.affected :])


@pytest.mark.parametrize("spending", [proposed, shared, everything])
@pytest.mark.parametrize("cap", CAPS)
def test_the_largest_charges_of_an_interval_never_exceed_the_cap(
    spending: Spending, cap: int
) -> None:
    """Whatever collections and whatever decisions, and with all that the headroom allows, too."""
    largest = 0
    for seed in range(150):
        timeline = random_timeline(seed)
        charges = spent(timeline, spending, cap, np.random.default_rng(seed))
        largest = max(largest, *(total(charges, interval) for interval in timeline.intervals()))
    assert cap - 10 < largest <= cap


def test_budgets_are_those_of_the_formulas_in_fractions() -> None:
    """Up to the rounding down of integers; no ledger, but a look at all earlier charges."""
    cap = 10**15
    for seed in range(60):
        timeline = random_timeline(seed)
        charges = spent(timeline, proposed, cap, None)
        exact: dict[int, Fraction] = {}
        for tick in range(timeline.ticks):
            intervals = timeline.relevance(tick, b"").intervals
            if intervals:
                exact[tick] = min(_proposal(exact, interval, tick) for interval in intervals)
                assert charges[tick] == pytest.approx(exact[tick] * cap, rel=1e-9)


def _proposal(charges: dict[int, Fraction], interval: Interval, tick: int) -> Fraction:
    """Algorithm 3, corrected."""
    within = sorted((charges[at] for at in range(interval.start, tick)), reverse=True)
    top = within[: interval.affected]
    given_back = top[-1] if len(top) == interval.affected else Fraction(0)
    headroom = 1 - sum(top, Fraction(0)) + given_back
    share = Fraction(1, interval.affected)
    return min(max(share, headroom / (interval.end - tick + 1)), headroom)


class Printed(Ledger):
    """Lines 9 and 10 of the algorithm as they are printed: the smallest charge is taken."""

    def proposal(self, tick: int, cap: int) -> int:
        left = cap - sum(self.largest) - self._given_back
        return max(self.share(cap), left // (self.end - tick + 1))


def test_the_printed_sign_is_as_private_and_wastes_a_few_percent() -> None:
    """Compare the noise that is to be expected; every tick is sampled."""

    def printed(ledgers: list[Ledger], tick: int, cap: int) -> int:
        return proposed([Printed(**vars(ledger)) for ledger in ledgers], tick, cap)

    ratios = []
    for seed in range(300):
        timeline = random_timeline(seed, people=1)
        one, other = (spent(timeline, rule, CAPS[0], None) for rule in (printed, proposed))
        assert max(total(one, interval) for interval in timeline.intervals()) <= CAPS[0]
        ratios.append(_noise(one) / _noise(other))
    assert min(ratios) == pytest.approx(1.0)
    assert 1.02 < max(ratios) < 1.06


def _noise(charges: dict[int, int]) -> float:
    return sum(1 / charge for charge in charges.values()) / len(charges)


def test_a_charge_beyond_the_headroom_is_refused() -> None:
    ledger = Ledger(0, 9, affected=2).spend(60, cap=100)
    assert ledger.headroom(cap=100) == 40
    with pytest.raises(ArithmeticError, match=r"^budget: a relevance interval"):
        ledger.spend(41, cap=100)
    full = ledger.spend(40, cap=100)
    assert full.largest == (40, 60)
    assert full.headroom(cap=100) == 40, "the smallest of the largest is given back"
    assert full.spend(40, cap=100) == full
    assert full.spend(30, cap=100) == full


def test_a_damaged_ledger_stops_before_it_is_overspent() -> None:
    with pytest.raises(ArithmeticError, match="budget"):
        Ledger(0, 9, affected=1, largest=(101,)).spend(102, cap=100)


def test_what_an_interval_was_opened_with_is_frozen_until_it_ends() -> None:
    before = [Interval(1, 4, 1), Interval(2, 6, 3)]
    ledgers = [ledger.spend(5, cap=100) for ledger in opened([], before, tick=2)]
    assert [ledger.affected for ledger in ledgers] == [1, 3]
    later = [replace(one, affected=one.affected + 1) for one in before]
    kept = opened(ledgers, [*later, Interval(4, 4, 1)], tick=4)
    assert kept == [*ledgers, Ledger(4, 4, 1)]
    assert opened(kept, later[1:], tick=5) == [ledgers[1]]
    assert opened(kept, [], tick=7) == []


def test_a_stream_may_begin_in_the_middle_of_an_interval() -> None:
    assert opened([], [Interval(-5, 9, 4)], tick=3) == [Ledger(-5, 9, 4)]


def test_ledgers_are_bytes_and_equal_charges_take_no_more_of_them() -> None:
    some = [
        Ledger(1, 4, 2),
        Ledger(2, 10**9, 2000, (7,) * 500 + (2**44,) * 1500),
        Ledger(3, 8, 4, (1, 2, 3)),
    ]
    assert list(decoded(encoded(some))) == some
    assert encoded([]) == b""
    assert len(encoded(some)) < 200
