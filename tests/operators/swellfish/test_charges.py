"""Charges of intervals by whole strategies: never more than epsilon, in exact integers."""

from itertools import product

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategies import (
    Books,
    TINARSample,
    TINARUniform,
    Unicorn,
    UnicornIS,
    UnicornPS,
)
from fugu.operators.swellfish.policy import Occurrence
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from fugu.operators.wevent.allocation import units_below
from tests.operators.swellfish.fixed_timeline import FixedTimeline, Person, random_timeline
from tests.operators.swellfish.plans import EverythingAtOnce, OwnPlan, WildPlan
from tests.operators.swellfish.running import (
    UNITS,
    Strategy,
    largest_charges,
    run,
    simulated,
)
from tests.thinned import first_in_test

ROWS = 6
PLANNED = first_in_test([WildPlan, OwnPlan, EverythingAtOnce], 1)
OF_INTERVALS = [UnicornIS, UnicornPS, Unicorn, TINARUniform, TINARSample, *PLANNED]
OF_WINDOWS = [TSUniform, TSSample, TSBudgetDistribution, TSBudgetAbsorption]
DECIDING = (Unicorn, TSBudgetDistribution, TSBudgetAbsorption)
EPSILONS = (1.0, 12_347 / UNITS)


def configured(kind: type[Strategy], timeline: FixedTimeline, epsilon: float) -> Strategy:
    more = {"window": timeline.longest} if kind in OF_WINDOWS else {}
    return kind(timeline, 1, epsilon, **more)


def restless(timeline: FixedTimeline, epsilon: float, seed: int) -> Integers:
    """Figures that stay or jump, each by as much as noise is large, so that decisions differ."""
    scale = int(timeline.largest_sensitivity * timeline.longest / epsilon)
    size = (timeline.ticks, ROWS, 1)
    return np.random.default_rng(seed).integers(-4, 5, size=size) * min(scale, 2**38)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*OF_INTERVALS, *OF_WINDOWS])
def test_no_interval_is_charged_more_than_epsilon_where_it_can_matter(
    kind: type[Strategy],
) -> None:
    """Return the `affected` largest charges of every interval of random collections."""
    largest, shares = dict.fromkeys(EPSILONS, 0), []
    for seed, epsilon in product(range(15), EPSILONS):
        timeline = random_timeline(seed)
        strategy = configured(kind, timeline, epsilon)
        ran = run(strategy, restless(timeline, epsilon, seed), simulated(seed))
        charged = ran.charged()
        for interval in timeline.intervals():
            found = int(largest_charges(charged, interval).max())
            largest[epsilon] = max(found, largest[epsilon])
        shares.append((ran.units("publication") > 0).mean())
    for epsilon, found in largest.items():
        assert 0.8 * units_below(epsilon) < found <= units_below(epsilon)
    if kind in DECIDING:
        assert 0.1 < np.mean(shares) < 0.8


@pytest.mark.parametrize(
    "kind", [UnicornIS, UnicornPS, *PLANNED, TINARUniform, TSUniform, TSSample]
)
def test_the_worst_neighbours_are_told_apart_by_epsilon_at_most_and_nearly_so(
    kind: type[Strategy],
) -> None:
    """Tell neighbours apart by complete transcripts. Where budgets do not depend on the data, they
    differ by each change times the price of a unit. All starts of all changes are tried."""
    ratios = []
    for seed in range(40):
        timeline = random_timeline(seed, occurrences=3, length=6, largest=3)
        strategy = configured(kind, timeline, 1.0)
        ran = run(strategy, np.zeros((timeline.ticks, 1, 1), dtype=np.int64), simulated(seed))
        sensitivity = ran.column("sensitivity")[:, 0]
        price = ran.units("publication")[:, 0] // np.maximum(sensitivity, 1)
        for person in timeline.people:
            for changes in largest_changes(person, timeline):
                assert (changes <= sensitivity).all(), "nothing changes where nothing is relevant"
                for interval in person:
                    loss = (changes * price)[interval.start : interval.end + 1].sum()
                    ratios.append(int(loss) / UNITS)
    assert 0.99 < max(ratios) <= 1.0


def largest_changes(person: Person, timeline: FixedTimeline) -> list[Integers]:
    """Tick by tick, for all places where the patterns of all occurrences may begin."""

    def changes(starts: tuple[int, ...]) -> Integers:
        total = np.zeros(timeline.ticks, dtype=np.int64)
        for one, start in zip(person, starts, strict=True):
            total[start : start + one.length] += one.thresholds
        return np.minimum(total, timeline.largest_sensitivity)

    places = [range(one.start, one.end - one.length + 2) for one in person]
    return [changes(starts) for starts in product(*places)]


class ForEver(UnicornIS):
    """Compare open intervals with those of the first sample, as printed."""

    @property
    def cap(self) -> int:
        return 10 * self.units

    def _publication(self, books: Books) -> Integers:
        began = (books.ticks[books.ledgers.book] == 0) | (books.ledgers.start > 0)
        return np.where(began, self.units, 0)


LATER = FixedTimeline(((Occurrence(0, 1, (1,)), Occurrence(2, 5, (1, 1))),), 1)


def charge_of_the_later_one(strategy: Strategy) -> int:
    ran = run(strategy, np.zeros((6, 1, 1), dtype=np.int64), simulated(1))
    *_, later = LATER.intervals()
    return int(largest_charges(ran.charged(), later).item())


def test_comparing_with_the_first_sample_for_ever_charges_an_interval_twice() -> None:
    assert charge_of_the_later_one(UnicornIS(LATER, 1, 1.0)) == UNITS
    assert charge_of_the_later_one(ForEver(LATER, 1, 1.0)) == 2 * UNITS


def test_a_ledger_stops_a_strategy_that_charges_an_interval_twice() -> None:
    class Stopped(ForEver):
        cap = UnicornIS.cap

    with pytest.raises(ArithmeticError, match="a relevance interval was about to be charged"):
        charge_of_the_later_one(Stopped(LATER, 1, 1.0))


class Whole(Unicorn):
    """Spend all of epsilon on samples, and half of it on decisions, as printed."""

    @property
    def cap(self) -> int:
        return self.units

    def _decision(self, books: Books) -> Integers:
        return super()._decision(books) // 2


def test_samples_that_get_all_of_epsilon_charge_an_interval_half_as_much_again() -> None:
    for kind, most in ((Unicorn, 1.0), (Whole, 1.5)):
        one = FixedTimeline(((Occurrence(0, 5, (1, 1)),),), 1)
        jumps = np.arange(6)[:, None, None] * 10**6
        ran = run(kind(one, 1, 1.0), jumps, simulated(1))
        [interval] = one.intervals()
        assert largest_charges(ran.charged(), interval).item() == most * UNITS
