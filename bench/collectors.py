"""Collectors of private reports beside `sample`, and what users' reports cost: no Kafka."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.reporting import Instruction
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationAbsorption,
    CollectedPopulationDistribution,
    CollectedPopulationUniform,
    CollectedSample,
    CollectedUniform,
)
from fugu.operators.mechanism import Inputs, Integers, Mechanism
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.wevent.spread_strategies import Sample

GROUPS = (10, 1_000, 60_000)
WINDOW, EPSILON, USERS = 4, 4.0, 20_000
_WARM, _TICKS = 4, 20
KINDS: tuple[type[Collector], ...] = (
    CollectedUniform,
    CollectedSample,
    CollectedBudgetDistribution,
    CollectedBudgetAbsorption,
    CollectedPopulationUniform,
    CollectedPopulationDistribution,
    CollectedPopulationAbsorption,
)


@dataclass(frozen=True)
class CollectorCost:
    """CPU microseconds of a tick in the merge, as a mean over ticks, by number of groups; and of
    all reports of a user who is there, with 10 groups."""

    kind: str
    ticks: dict[int, float]
    user: float | None


def measure_collectors(say: Callable[[str], None]) -> list[CollectorCost]:
    """Return the cost of `sample`, and of all collectors."""
    say("sample")
    of_sample = [_tick(Sample(groups, WINDOW, EPSILON, 2), _counts(groups)) for groups in GROUPS]
    costs = [_cost("sample", of_sample, None)]
    for kind in KINDS:
        say(kind.kind)
        ticks = [_tick(kind(groups, WINDOW, EPSILON), _tallies(groups)) for groups in GROUPS]
        costs.append(_cost(kind.kind, ticks, _user(kind(GROUPS[0], WINDOW, EPSILON))))
    return costs


def _cost(kind: str, ticks: list[float], user: float | None) -> CollectorCost:
    return CollectorCost(kind, dict(zip(GROUPS, ticks, strict=True)), user)


def _counts(groups: int) -> Integers:
    return np.random.default_rng(groups).integers(0, 1_000, size=(2, groups))


def _tallies(groups: int) -> Integers:
    counts = _counts(groups)
    people = np.full((2, 3), counts.sum(axis=1).max())
    return np.concatenate([people, counts, counts], axis=1)


def _tick(mechanism: Mechanism, values: Integers) -> float:
    """Return the mean: `sample` publishes one tick of a window, and repeats it."""
    scope, state, spent = _scope(mechanism), mechanism.start(1), []
    for tick in range(_WARM + _TICKS):
        draws = scope.draws([b"schedule"], [b"%d" % tick])
        began = time.process_time()
        state, _ = mechanism.step(state, Inputs(values[tick % 2][None]), draws)
        spent.append(time.process_time() - began)
    return mean(spent[_WARM:]) * 1e6


def _user(mechanism: Collector) -> float:
    """Return the mean over users and ticks, of which each asks for a publication."""
    reporting, scope = mechanism.reporting, _scope(mechanism)
    keys = [b"user-%d" % user for user in range(USERS)]
    symbols = np.arange(USERS) % mechanism.symbols
    state, spent = reporting.placed(reporting.start(USERS), scope.draws(keys, [b""] * USERS)), []
    for tick in range(2 + WINDOW):
        asked = Instruction(mechanism.units // (4 * WINDOW))
        asked = asked if reporting.fixed is None else reporting.fixed(tick)
        draws = scope.draws(keys, [b"%d" % tick] * USERS)
        began = time.process_time()
        state, _, _ = reporting.report(state, {}, symbols, tick, asked, draws)
        spent.append(time.process_time() - began)
    return mean(spent[2:]) / USERS * 1e6


def _scope(mechanism: Mechanism) -> DrawScope:
    return DrawScope(Secret(bytes(32)), "bench", mechanism.kind, 1, mechanism.law_digest())


# The costs of collectors as a table.


def collectors_page(costs: Sequence[CollectorCost], command: str, load_before: float) -> Page:
    """Return the page of these costs."""
    sample = costs[0].ticks
    header = ["kind", *(f"{groups:,} groups" for groups in GROUPS), "/ sample", "a user's reports"]
    rows = [
        [
            cost.kind,
            *figures(0, *(cost.ticks[groups] for groups in GROUPS)),
            ", ".join(f"{cost.ticks[groups] / sample[groups]:.2f}" for groups in GROUPS),
            "" if cost.user is None else f"{cost.user:.2f}",
        ]
        for cost in costs
    ]
    return Page(
        "collectors",
        "Collectors of private reports",
        command,
        load_before,
        {"costs": [asdict(cost) for cost in costs]},
        [
            Grid(
                "CPU µs of a tick in the merge, by groups; of a user's reports, 10 groups",
                header,
                rows,
            )
        ],
        [
            f"Window {WINDOW}, epsilon {EPSILON:g}; a mean over ticks, of which sample publishes "
            f"one in {WINDOW}. Reports: {USERS:,} users who are all there, SUE, CPU µs a user and "
            "tick; of population division that includes those who are not asked.",
        ],
    )
