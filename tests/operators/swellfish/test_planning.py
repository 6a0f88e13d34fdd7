"""Bound what plans look at: as much as a programme can take, whatever policies ask."""

import builtins
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from fugu.operators.mechanism import Floats, State
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import Books, UnicornPS
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.planning import (
    LARGEST_OPEN,
    Limit,
    Plan,
    UnicornPlan,
    foreseen,
    least_noise,
    planned_charges,
    require_solver,
)
from fugu.operators.swellfish.policy import Occurrence
from fugu.operators.wevent.allocation import Offer
from tests.operators.swellfish.fixed_timeline import FixedTimeline, random_timeline
from tests.operators.swellfish.plans import EverythingAtOnce, OwnPlan, plan_of
from tests.operators.swellfish.running import UNITS, Ran, Strategy, run, simulated

CAP = 2**40


def test_stretches_are_all_ticks_in_order_and_neighbours_differ() -> None:
    for seed in range(20):
        timeline = random_timeline(seed)
        stretches = foreseen(timeline, b"", 3, 40)
        assert [stretches[0].first, stretches[-1].last] == [3, 42]
        for one, other in pairwise(stretches):
            assert one.last + 1 == other.first
            assert one.value != other.value
        for one in stretches:
            for tick in range(one.first, one.last + 1):
                assert timeline.relevance(tick, b"") == one.value


def test_a_plan_looks_less_far_ahead_where_many_intervals_are_open() -> None:
    person = tuple(Occurrence(0, 400 + number, (1,)) for number in range(100))
    crowd = FixedTimeline(
        (person, *((Occurrence(tick, tick, (5,)),) for tick in range(0, 400, 2))), 9
    )
    stretches = foreseen(crowd, b"", 0)
    looked_at = sum(len(one.value.intervals) for one in stretches)
    assert LARGEST_OPEN - 101 <= looked_at <= LARGEST_OPEN
    charges = planned_charges(stretches, Ledgers.decoded([b""]), CAP)
    assert min(charges) > 0
    assert len(foreseen(crowd, b"", 0, 1)) == 1


def test_however_many_different_charges_are_spent_as_much_is_left() -> None:
    """Spend 900 of 1,000 ticks that count, no two alike; the others may share the rest."""
    one = FixedTimeline(((Occurrence(0, 999, (1,) * 1000),),), 9)
    spent = np.arange(1, 901) * (CAP // 10**6)
    ledgers = Ledgers.decoded([b""]).opened(np.array([0]), [one.relevance(0, b"").spans])
    for charge in spent:
        ledgers = ledgers.spend(np.array([charge]), CAP)
    [planned] = planned_charges(foreseen(one, b"", 900, 100), ledgers, CAP)
    left = CAP - int(spent.sum())
    assert 0.999 * left <= 100 * planned <= 1.001 * left


# The programme that shares a budget out: its answers are those of calculus.


def test_shares_go_with_the_square_root_of_the_weight() -> None:
    for weights in ([1.0, 4.0, 25.0], [3.0, 3.0, 3.0]):
        shares = least_noise(weights, [Limit(3, [(0, 1), (1, 1), (2, 1)])])
        roots = np.sqrt(weights)
        assert shares == pytest.approx(roots / roots.sum(), rel=0.1)
        assert shares.sum() == pytest.approx(1.0)
        least = roots.sum() ** 2
        assert (np.array(weights) / shares).sum() == pytest.approx(least, rel=0.002)


def test_only_the_largest_shares_count() -> None:
    """Two of ten ticks: all get a half, whatever their number."""
    assert least_noise([10.0], [Limit(2, [(0, 10)])]) == pytest.approx([0.5])


def test_what_is_spent_is_one_of_the_largest() -> None:
    one = Limit(2, [(0, 5)], [(0.75, 1), (0.1, 3)])
    assert least_noise([5.0], [one]) == pytest.approx([0.25], rel=1e-3)
    everything = Limit(1, [(0, 5)], [(1.0, 1)])
    assert least_noise([5.0], [everything]) == pytest.approx([1.0])


@pytest.mark.parametrize("apart", [1e2, 1e4, 1e6])
def test_a_tick_that_hides_next_to_nothing_gets_little_and_not_nothing(apart: float) -> None:
    shares = least_noise([apart, 1.0], [Limit(2, [(0, 1), (1, 1)])])
    assert shares[1] / shares[0] == pytest.approx(apart**-0.5, rel=0.6)
    assert least_noise([apart, 1.0], [Limit(1, [(0, 1)]), Limit(1, [(1, 1)])]) == pytest.approx(
        [1.0, 1.0], rel=0.01
    )


def test_where_scipy_is_missing_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("scipy"):
            raise ModuleNotFoundError(name)
        return imported(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"^kind: unicorn_plan needs SciPy; pip install scipy"):
        require_solver()


def test_where_no_solution_is_found_there_are_no_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan then says nothing, and ticks are charged as without one."""
    monkeypatch.setattr("fugu.operators.swellfish.planning._STEPS", 1)
    assert least_noise([1.0, 4.0], [Limit(2, [(0, 1), (1, 1)])]).tolist() == [0.0, 0.0]


# UnicornPlan: plans save noise, and are never believed.


def after(strategy: Strategy, ticks: int, state: State | None = None) -> Ran:
    """Run so many ticks of nothing."""
    return run(strategy, np.zeros((ticks, 1, 1), dtype=np.int64), simulated(1), state)


def charged(strategy: Strategy, ticks: int, state: State | None = None) -> list[int]:
    return [int(units) for units in after(strategy, ticks, state).units("publication")[:, 0]]


def noise(strategy: Strategy, timeline: FixedTimeline) -> Floats:
    """Return the expected size of the noise of every tick that has some, in units."""
    ran = after(strategy, timeline.ticks)
    sensitivity, charge = ran.column("sensitivity")[:, 0], ran.units("publication")[:, 0]
    relevant = sensitivity > 0
    assert (charge[relevant] > 0).all()
    return np.asarray(sensitivity[relevant] / (charge[relevant] / UNITS))


LONG = FixedTimeline(((Occurrence(0, 19, (1,) * 10), Occurrence(5, 9, (80,) * 5)),), 100)
"""For half of a long interval somebody may do something small, and large for a quarter of it."""


def test_a_tick_that_may_change_a_lot_is_charged_more() -> None:
    """By hand: 5 ticks of x and 15 of y, of which 15 count for the long interval, 5 for the short
    one: 5x + 10y = 1 is best at y = x sqrt(15 / (81 * 10)), and x is below 1/5 then."""
    x = 1 / (5 + 10 * (15 / 810) ** 0.5)
    charges = np.array(charged(OwnPlan(LONG, 1, 1.0), 20)) / UNITS
    expected = np.where((np.arange(20) >= 5) & (np.arange(20) < 10), x, x * (15 / 810) ** 0.5)
    assert charges == pytest.approx(expected, rel=0.1)
    best = (5 * 81 / x) + 15 / (x * (15 / 810) ** 0.5)
    assert noise(OwnPlan(LONG, 1, 1.0), LONG).sum() == pytest.approx(best, rel=0.002)
    assert noise(UnicornPS(LONG, 1, 1.0), LONG).sum() > 1.5 * best


def test_plans_have_no_more_noise_than_shares_of_what_is_left() -> None:
    """All ticks are known at the start; a thousandth is what the programme may miss."""
    ratios = []
    for seed in range(30):
        timeline = random_timeline(seed)
        greedy, planned = (noise(kind(timeline, 1, 1.0), timeline) for kind in (UnicornPS, OwnPlan))
        if len(greedy):
            ratios.append(planned.sum() / greedy.sum())
    assert max(ratios) < 1.002
    assert np.mean(ratios) < 0.99


def test_plans_have_as_little_noise_as_is_possible() -> None:
    """Charges of single ticks, and a limit for every choice of delta(J) ticks of an interval,
    solved by another method."""
    for seed in range(25):
        timeline = random_timeline(seed, people=2, occurrences=3, length=5)
        relevant = noise(OwnPlan(timeline, 1, 1.0), timeline)
        if len(relevant):
            assert relevant.sum() == pytest.approx(least_possible(timeline), rel=0.002)


def least_possible(timeline: FixedTimeline) -> float:
    asked = [timeline.relevance(tick, b"") for tick in range(timeline.ticks)]
    sensitivity = np.array([relevance.sensitivity for relevance in asked])
    chosen = [
        np.isin(np.arange(timeline.ticks), ticks)
        for one in timeline.intervals()
        for ticks in combinations(range(one.start, one.end + 1), one.affected)
    ]
    limits = np.array(chosen)[:, sensitivity > 0].astype(float)
    weights = sensitivity[sensitivity > 0].astype(float)
    solved = minimize(
        lambda shares: (weights / shares).sum() / weights.sum(),
        np.full(len(weights), 0.9 / limits.sum(axis=1).max()),
        jac=lambda shares: -weights / shares**2 / weights.sum(),
        bounds=[(1e-3, 1.0)] * len(weights),
        constraints=LinearConstraint(limits, ub=1.0),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert solved.success
    return float(solved.fun * weights.sum())


def test_what_is_spent_is_taken_into_account() -> None:
    """A plan in the middle of an interval is that of the start where nothing was wasted."""
    strategy = UnicornPlan(LONG, 1, 1.0)
    plan = strategy.plan(strategy.start(1))
    assert plan is not None
    ran = after(strategy, 7, strategy.after_plan(strategy.start(1), plan))
    again = strategy.plan({**ran.state, "plan": strategy.start(1)["plan"]})
    assert again is not None
    rest = [Plan.decoded(plan).charge(tick) for tick in range(7, 20)]
    found = [Plan.decoded(again).charge(tick) for tick in range(7, 20)]
    assert sum(1 / charge for charge in found) == pytest.approx(
        sum(1 / charge for charge in rest), rel=0.1
    )


class Believing(EverythingAtOnce):
    """Charge what is planned, whatever there is left."""

    def _offer(self, state: State, opened: Books) -> Offer:
        offer = super()._offer(state, opened)
        return replace(offer, publication=np.full_like(offer.publication, self.units))


def test_a_plan_that_is_believed_is_stopped_by_the_ledgers() -> None:
    assert charged(EverythingAtOnce(LONG, 1, 1.0), 20) == [UNITS] + [0] * 19
    with pytest.raises(ArithmeticError, match="a relevance interval was about to be charged"):
        after(Believing(LONG, 1, 1.0), 2)


def test_without_a_plan_it_does_what_unicorn_ps_does() -> None:
    for seed in range(20):
        timeline = random_timeline(seed)
        assert charged(UnicornPlan(timeline, 1, 1.0), timeline.ticks) == charged(
            UnicornPS(timeline, 1, 1.0), timeline.ticks
        )


def test_a_plan_for_other_ticks_or_with_nothing_in_it_changes_nothing() -> None:
    strategy = UnicornPlan(LONG, 1, 1.0)
    without = charged(strategy, 20)
    for plan in (plan_of([0] * 20), plan_of([5], first=20), plan_of([5] * 30, first=-1)):
        assert charged(strategy, 20, strategy.after_plan(strategy.start(1), plan)) == without


def test_a_plan_that_comes_late_is_not_used() -> None:
    """The ticks before have spent another budget: nothing would be left for the last ones."""
    strategy, without = UnicornPlan(LONG, 1, 1.0), charged(UnicornPS(LONG, 1, 1.0), 20)
    plan = strategy.plan(strategy.start(1))
    assert plan is not None
    late = strategy.after_plan(after(strategy, 3).state, plan)
    assert charged(strategy, 17, late) == without[3:]
    again = strategy.plan(late)
    assert again is not None
    assert min(charged(strategy, 17, strategy.after_plan(late, again))) > 0


def test_a_change_of_policies_ends_a_plan() -> None:
    strategy = UnicornPlan(HOUSEHOLD, 1, 1.0)
    plan = strategy.plan(strategy.start(1))
    assert plan is not None
    state = strategy.after_plan(strategy.start(1), plan)
    assert strategy.plan(state) is None
    gone = Change("home", effective=0, removes="vacuum", adds=None).to_bytes()
    changed = strategy.after_change(state, gone)
    shares = charged(UnicornPS(HOUSEHOLD, 1, 1.0), 7)
    assert charged(strategy, 7, changed) == shares
    new = strategy.plan(changed)
    assert new is not None
    assert strategy.plan(strategy.after_plan(changed, new)) is None


def test_a_plan_that_is_over_is_followed_by_another_one() -> None:
    strategy = UnicornPlan(HOUSEHOLD, 1, 1.0)
    plan = strategy.plan(strategy.start(1))
    assert plan is not None
    state = strategy.after_plan(strategy.start(1), plan)
    [last] = [tick for tick in range(5000) if Plan.decoded(plan).holds(tick, b"")][-1:]
    assert last == 1999
    assert strategy.plan({**state, "tick": np.array([last])}) is None
    assert strategy.plan({**state, "tick": np.array([last + 1])}) is not None


def test_an_interval_that_is_open_beyond_the_horizon_keeps_something_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fugu.operators.swellfish.planning.LARGEST_STRETCHES", 3)
    alternating = tuple(Occurrence(tick, tick, (3,)) for tick in range(1, 40, 2))
    timeline = FixedTimeline(((Occurrence(0, 39, (1,) * 40), *alternating),), 9)
    strategy, state, found = UnicornPlan(timeline, 1, 1.0), None, []
    state = strategy.start(1)
    for _ in range(40):
        if (plan := strategy.plan(state)) is not None:
            state = strategy.after_plan(state, plan)
            assert len(Plan.decoded(plan).ticks) <= 3
        ran = after(strategy, 1, state)
        state = ran.state
        found.append(int(ran.units("publication")[0, 0]))
    assert min(found) > 0.5 * UNITS / 40
    assert sum(found) <= UNITS


def test_the_same_plan_gives_the_same_bytes_wherever_it_was_made() -> None:
    """A replay is told what the log holds, and asks no solver."""

    class AnotherMachine(UnicornPlan):
        def plan(self, state: State) -> bytes | None:
            raise AssertionError("a replay plans nothing")

    plan = UnicornPlan(LONG, 1, 1.0).plan(UnicornPlan(LONG, 1, 1.0).start(1))
    assert plan is not None
    assert plan == UnicornPlan(LONG, 1, 1.0).plan(UnicornPlan(LONG, 1, 1.0).start(1))
    one, other = (
        after(strategy, 20, strategy.after_plan(strategy.start(1), plan))
        for strategy in (UnicornPlan(LONG, 1, 1.0), AnotherMachine(LONG, 1, 1.0))
    )
    assert (one.values == other.values).all()
    assert one.column("standard_error").tobytes() == other.column("standard_error").tobytes()


@pytest.mark.parametrize("content", [b"", b"x" * 24 + b"y", b"x" * 30])
def test_what_is_no_plan_is_refused(content: bytes) -> None:
    strategy = UnicornPlan(LONG, 1, 1.0)
    with pytest.raises(ValueError, match=r"^plan: must be a digest"):
        strategy.after_plan(strategy.start(1), content)


@pytest.mark.parametrize(
    ("ticks", "charges"), [((1, 2), (3,)), ((0,), (1,)), ((-1,), (1,)), ((1,), (-1,))]
)
def test_runs_of_a_plan_are_ticks_and_charges(ticks: Any, charges: Any) -> None:
    good = Plan(0, bytes(16), (1,), (2,))
    with pytest.raises(ValueError, match=r"^plan: must have"):
        replace(good, ticks=ticks, charges=charges)
