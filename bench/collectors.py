"""Collectors of private reports beside `sample`, and what users' reports cost: no Kafka."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.instruction import Instruction
from fugu.operators.ldp_ids.lba import CollectedBudgetAbsorption
from fugu.operators.ldp_ids.lbd import CollectedBudgetDistribution
from fugu.operators.ldp_ids.lbu import CollectedUniform
from fugu.operators.ldp_ids.lpa import CollectedPopulationAbsorption
from fugu.operators.ldp_ids.lpd import CollectedPopulationDistribution
from fugu.operators.ldp_ids.lpu import CollectedPopulationUniform
from fugu.operators.ldp_ids.lsp import CollectedSample
from fugu.operators.mechanism import Inputs, Integers, Mechanism
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.wevent.sample import Sample

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
