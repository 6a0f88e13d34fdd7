"""Ledgers of intervals: caps that hold whatever is spent, and what they are written as."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.relevance import Interval, Relevance
from tests.operators.swellfish import reference_ledger
from tests.operators.swellfish.fixed_timeline import FixedTimeline, random_timeline
from tests.operators.swellfish.reference_ledger import Ledger

CAPS = (10**12, 12_347)
Spending = Callable[[Ledgers, Integers, int], Integers]


def proposed(ledgers: Ledgers, ticks: Integers, cap: int) -> Integers:
    return ledgers.proposals(ticks, cap)


def shared(ledgers: Ledgers, ticks: Integers, cap: int) -> Integers:
    return ledgers.share(cap)


def everything(ledgers: Ledgers, ticks: Integers, cap: int) -> Integers:
    return ledgers.headroom(cap)


def opened(ledgers: Ledgers, intervals: Sequence[Interval], tick: int) -> Ledgers:
    """The ledgers of one book at a tick."""
    return ledgers.opened(np.array([tick]), [Relevance(1, tuple(intervals)).spans])


def none() -> Ledgers:
    """A book before its first tick."""
    return Ledgers.decoded([b""])


def plain(ledgers: Ledgers) -> list[Ledger]:
    [content] = ledgers.encoded()
    return list(reference_ledger.decoded(content))


def charged(ledgers: Ledgers, charge: int, cap: int) -> Ledgers:
    return ledgers.spend(np.array([charge]), cap)


def spent(
    timeline: FixedTimeline, spending: Spending, cap: int, wishes: np.random.Generator | None
) -> dict[int, int]:
    """Return what every tick was charged, with a coin for each that says whether to sample."""
    ledgers, charges = none(), dict[int, int]()
    for tick in range(timeline.ticks):
        ledgers = opened(ledgers, timeline.relevance(tick, b"").intervals, tick)
        if len(ledgers.book) and (wishes is None or wishes.random() < 0.6):
            charge = int(ledgers.least(spending(ledgers, np.array([tick]), cap))[0])
            if charge:
                ledgers = charged(ledgers, charge, cap)
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


def printed(ledgers: Ledgers, ticks: Integers, cap: int) -> Integers:
    """Lines 9 and 10 of the algorithm as they are printed: the smallest charge is taken."""
    left = ledgers.headroom(cap) - 2 * ledgers.given_back
    return np.maximum(ledgers.share(cap), left // (ledgers.end - ticks[ledgers.book] + 1))


def test_the_printed_sign_is_as_private_and_wastes_a_few_percent() -> None:
    """Compare the noise that is to be expected; every tick is sampled."""
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
    ledgers = charged(opened(none(), [Interval(0, 9, 2)], tick=0), 60, cap=100)
    assert ledgers.headroom(cap=100) == 40
    with pytest.raises(ArithmeticError, match=r"^budget: a relevance interval"):
        charged(ledgers, 41, cap=100)
    full = charged(ledgers, 40, cap=100)
    assert plain(full) == [Ledger(0, 9, 2, (40, 60))]
    assert full.headroom(cap=100) == 40, "the smallest of the largest is given back"
    assert plain(charged(full, 40, cap=100)) == plain(full)
    assert plain(charged(full, 30, cap=100)) == plain(full)


def test_a_damaged_ledger_stops_before_it_is_overspent() -> None:
    damaged = reference_ledger.encoded([Ledger(0, 9, affected=1, largest=(101,))])
    with pytest.raises(ArithmeticError, match="budget"):
        charged(Ledgers.decoded([damaged]), 102, cap=100)


def test_what_an_interval_was_opened_with_is_frozen_until_it_ends() -> None:
    before = [Interval(1, 4, 1), Interval(2, 6, 3)]
    ledgers = charged(opened(none(), before, tick=2), 5, cap=100)
    assert ledgers.affected.tolist() == [1, 3]
    later = [replace(one, affected=one.affected + 1) for one in before]
    kept = opened(ledgers, [*later, Interval(4, 4, 1)], tick=4)
    assert plain(kept) == [*plain(ledgers), Ledger(4, 4, 1)]
    assert plain(opened(kept, later[1:], tick=5)) == plain(ledgers)[1:]
    assert plain(opened(kept, [], tick=7)) == []


def test_a_stream_may_begin_in_the_middle_of_an_interval() -> None:
    assert plain(opened(none(), [Interval(-5, 9, 4)], tick=3)) == [Ledger(-5, 9, 4)]


def test_ledgers_are_bytes_and_equal_charges_take_no_more_of_them() -> None:
    some = [
        Ledger(1, 4, 2),
        Ledger(2, 10**9, 2000, (7,) * 500 + (2**44,) * 1500),
        Ledger(3, 8, 4, (1, 2, 3)),
    ]
    content = reference_ledger.encoded(some)
    assert Ledgers.decoded([content, b"", content]).encoded() == [content, b"", content]
    assert none().encoded() == [b""]
    assert len(content) < 200


SPENDINGS = (proposed, shared, everything)


@pytest.mark.parametrize("seed", range(40))
def test_books_are_what_ledgers_with_a_loop_over_charges_are(seed: int) -> None:
    """Tick by tick in bytes, several books at once, and what ledgers propose by each rule."""
    rng = np.random.default_rng(seed)
    cap = int(rng.choice([60, 12_347, 2**44]))
    timelines = [random_timeline(seed + 100 * number, length=20) for number in range(3)]
    contents, slow = [b""] * len(timelines), [list[Ledger]() for _ in timelines]
    for tick in range(max(timeline.ticks for timeline in timelines)):
        relevances = [timeline.relevance(tick, b"") for timeline in timelines]
        ticks = np.full(len(timelines), tick)
        books = Ledgers.decoded(contents).opened(ticks, [one.spans for one in relevances])
        slow = [
            reference_ledger.opened(ledgers, relevance.intervals, tick)
            for ledgers, relevance in zip(slow, relevances, strict=True)
        ]
        every = [ledger for ledgers in slow for ledger in ledgers]
        assert books.proposals(ticks, cap).tolist() == [one.proposal(tick, cap) for one in every]
        assert books.headroom(cap).tolist() == [one.headroom(cap) for one in every]
        wished = SPENDINGS[rng.integers(3)](books, ticks, cap)
        most = books.least(np.minimum(wished, books.headroom(cap)))
        charges = np.where(rng.random(3) < 0.3, rng.integers(0, most + 1), most)
        order = rng.permutation(3)
        contents = books.of_books(order).spend(charges[order], cap).encoded()
        contents = [contents[place] for place in np.argsort(order)]
        slow = [
            [ledger.spend(charge, cap) if charge else ledger for ledger in ledgers]
            for ledgers, charge in zip(slow, charges.tolist(), strict=True)
        ]
        assert contents == [reference_ledger.encoded(ledgers) for ledgers in slow]
