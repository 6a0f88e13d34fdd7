"""Releases of many series under many draws of noise, at a fraction of the time that steps take.

The budgets of a mechanism that decides nothing are the same for every series and every draw: so
its step runs once, and says what each tick costs. Those that decide by noise run as
`compiled_rules`. Noise is that of the mechanisms up to the rounding of doubles, and comes from
numpy: it needs no secret, and cannot be replayed by a key.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from examples.household import compiled_rules
from examples.household.compiled_groups import pegasus
from examples.household.compiled_rules import EXACT, REPEAT
from examples.household.perfect_sampling import UnicornStar
from fugu.operators.mechanism import Inputs, Integers, Kind, Mechanism
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.single_stream import with_plan
from fugu.operators.swellfish.interval_strategies import Unicorn, UnicornPS
from fugu.operators.swellfish.strategy import PolicyStrategy, WindowStrategy
from fugu.operators.swellfish.ts_strategies import TSBudgetAbsorption, TSBudgetDistribution
from fugu.operators.wevent.fast import FIRST_VARIANCE
from fugu.operators.wevent.pegasus import LONGEST, Pegasus
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.spread_strategies import BudgetAbsorption, BudgetDistribution
from fugu.operators.wevent.strategy import Strategy

GEOMETRIC_SCALE = 2.0**40
"""The ratio of the numbers that make noise is e^(-1 / 2^40), see `operators.noise.unit_laplace`."""

Release = Callable[[Integers, Integers], Integers]
"""Turns one series `(ticks,)` and geometric numbers `(ticks, draws, 2)` into what is released."""


def draws_of_a_tick(mechanism: Mechanism) -> int:
    """Return how many draws of noise a tick takes, at most: decision, release, and threshold."""
    return 3 if isinstance(mechanism, Pegasus) else 2


def numbers(rng: np.random.Generator, ticks: int, draws: int) -> Integers:
    """Return geometric numbers for the draws of each tick, two of each."""
    return (rng.standard_exponential((ticks, draws, 2)) * GEOMETRIC_SCALE).astype(np.int64)


def release_of(mechanism: Mechanism, ticks: int) -> Release:
    """Return a function that releases whole series as the mechanism does."""
    match mechanism:
        case Pegasus():
            return _of_pegasus(mechanism)
        case RescueDp():
            return _of_rescue_dp(mechanism)
        case BudgetDistribution() | BudgetAbsorption():
            return _of_windows(mechanism, np.full(ticks, mechanism.sensitivity), begun=True)
        case TSBudgetDistribution() | TSBudgetAbsorption():
            return _of_windows(mechanism, _sensitivities(mechanism, ticks), begun=False)
        case Unicorn() | UnicornStar():
            return _of_intervals(mechanism, ticks)
        case _:
            return _scheduled(prices(mechanism, ticks))


def prices(mechanism: Mechanism, ticks: int) -> Integers:
    """Return what noise costs at each tick where no datum decides, from the step itself."""
    scope = DrawScope(Secret(bytes(32)), "schedule", mechanism.kind, 1, mechanism.law_digest())
    state, found = mechanism.start(1), np.zeros(ticks, dtype=np.int64)
    nothing = Inputs(np.zeros((1, 1), dtype=np.int64))
    for tick in range(ticks):
        draws = scope.draws([b"series"], [tick_position("schedule", tick)])
        state, releases = mechanism.step(with_plan(mechanism, state), nothing, draws)
        assert releases.kinds is not None
        fresh = releases.kinds[0] == Kind.FRESH
        found[tick] = (int(state["price"][0]) or EXACT) if fresh else REPEAT
    return found


def _scheduled(prices: Integers) -> Release:
    def release(values: Integers, numbers: Integers) -> Integers:
        released = np.empty_like(values)
        compiled_rules.scheduled(values, numbers, prices, released)
        return released

    return release


def _of_windows(
    mechanism: Strategy | WindowStrategy, sensitivities: Integers, *, begun: bool
) -> Release:
    rule = mechanism.rule
    budgets = rule.epsilon, rule.smallest, rule.window
    absorbs = isinstance(mechanism, BudgetAbsorption | TSBudgetAbsorption)

    def release(values: Integers, numbers: Integers) -> Integers:
        shares, released = np.zeros(rule.window - 1, dtype=np.int64), np.empty_like(values)
        compiled_rules.of_windows(
            values, numbers, sensitivities, absorbs, budgets, begun, shares, released
        )
        return released

    return release


def _of_rescue_dp(mechanism: RescueDp) -> Release:
    rule = mechanism.rule
    budgets = rule.epsilon, rule.smallest, rule.window
    first = FIRST_VARIANCE * float(mechanism.contribution) ** 2
    variances = mechanism.process, mechanism.measurement, first

    def release(values: Integers, numbers: Integers) -> Integers:
        charges, released = np.zeros(rule.window - 1, dtype=np.int64), np.empty_like(values)
        compiled_rules.rescue_dp(
            values, numbers, mechanism.sensitivity, budgets, variances, charges, released
        )
        return released

    return release


def _of_pegasus(mechanism: Pegasus) -> Release:
    sensitivity, group = mechanism.sensitivity, mechanism.grouping
    figure = mechanism.share - group
    budgets = group // (8 * sensitivity), figure // sensitivity, group // (4 * sensitivity)
    prices = np.array(budgets, dtype=np.int64)

    def release(values: Integers, numbers: Integers) -> Integers:
        figures, ordered = np.zeros((2, LONGEST), dtype=np.int64)
        released = np.empty_like(values)
        pegasus(values, numbers, prices, mechanism.reach, figures, ordered, released)
        return released

    return release


def _of_intervals(mechanism: UnicornPS, ticks: int) -> Release:
    spans: dict[tuple[int, int], int] = {}
    intervals: list[tuple[int, int, int]] = []
    first, opened, places = [0], [], 0
    for tick in range(ticks):
        for one in mechanism.timeline.relevance(tick, b"").intervals:
            if (one.start, one.end) not in spans:
                spans[one.start, one.end] = len(intervals)
                intervals.append((one.end, one.affected, places))
                places += one.affected
            opened.append(spans[one.start, one.end])
        first.append(len(opened))
    public = (
        _sensitivities(mechanism, ticks),
        np.array(first),
        np.array(opened, dtype=np.int64),
        np.array(intervals, dtype=np.int64).reshape(-1, 3),
        mechanism.cap,
        isinstance(mechanism, UnicornStar),
    )

    def release(values: Integers, numbers: Integers) -> Integers:
        counts, sums = np.zeros((2, len(intervals)), dtype=np.int64)
        largest, released = np.zeros(places, dtype=np.int64), np.empty_like(values)
        compiled_rules.of_intervals(values, numbers, *public, counts, sums, largest, released)
        return released

    return release


def _sensitivities(mechanism: PolicyStrategy[Any], ticks: int) -> Integers:
    found = [mechanism.timeline.relevance(tick, b"").sensitivity for tick in range(ticks)]
    return np.array(found, dtype=np.int64)
