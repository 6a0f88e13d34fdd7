"""Counts from private reports keep their word on every transcript of small domains.

One user is alone, so that every decision of the collector is about that user's reports, and an
adversary sees all of them: more than anybody does. Where users share the population, that user
reports at most once in a window, whatever is asked (`test_reporting`).
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.deciding import BudgetDivision
from fugu.operators.ldp_ids.oracles import OracleName, oracle
from fugu.operators.ldp_ids.reporting import (
    EVERYBODY,
    NOTHING,
    Asked,
    Instruction,
    Reporting,
    SharedBudget,
    Spent,
    Tally,
)
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationUniform,
    CollectedSample,
    CollectedUniform,
)
from fugu.operators.mechanism import Floats, Inputs, Integers, State
from tests.operators.noise.simulated import SimulatedDraws

DRAWS = SimulatedDraws(np.random.default_rng(0))
SYMBOLS = 2


@dataclass
class Path:
    """One transcript so far: what both halves know, and how likely it is under every truth."""

    collector: State
    user: State
    spent: Spent
    told: Instruction
    likelihood: Floats


def transcripts(mechanism: Collector, truths: Floats, place: int = 0) -> list[Path]:
    """Follow every sequence of reports of one user; the symbols of truth i are `truths[i]`."""
    reporting = mechanism.reporting
    user = {**reporting.start(1)}
    if "place" in user:
        user["place"] = np.array([place])
    paths = [Path(mechanism.start(1), user, {}, NOTHING, np.zeros(len(truths)))]
    for tick in range(truths.shape[1]):
        paths = [
            longer
            for path in paths
            for longer in _followed(mechanism, path, tick, truths[:, tick].astype(int))
        ]
    return paths


def _followed(mechanism: Collector, path: Path, tick: int, symbols: Floats) -> list[Path]:
    reporting = mechanism.reporting
    told = path.told if reporting.fixed is None else reporting.fixed(tick)
    asked = reporting.asked(path.user, 1, path.spent, tick, told)
    user, spent = reporting.after(path.user, path.spent, tick, asked)
    found = []
    for answers in product(*(_outcomes(mechanism, one) for one in asked)):
        likelihood = path.likelihood + sum(np.log(chances[symbols]) for _, chances in answers)
        supports = np.stack([support for support, _ in answers])[None].astype(np.int64)
        reports = np.array([[int(one.rows[0]) for one in asked]])
        tally = Tally(np.array([1]), reports, supports)
        state, _ = mechanism.step(path.collector, Inputs(tally.vectors), DRAWS)
        told = mechanism.instruction(state) or NOTHING
        found.append(Path(state, user, spent, told, likelihood))
    return found


def _outcomes(mechanism: Collector, asked: Asked) -> list[tuple[Floats, Floats]]:
    """Return what each report supports, and its chance for every symbol; one of both if none."""
    if not asked.rows[0]:
        return [(np.zeros(SYMBOLS, dtype=np.int64), np.ones(SYMBOLS))]
    law = oracle(mechanism.oracle, SYMBOLS, asked.units)
    chances = law.outcomes()
    numbers = np.arange(chances.shape[1])
    if mechanism.oracle == "grr":
        supports = np.eye(SYMBOLS, dtype=np.int64)
    else:
        supports = numbers[:, None] >> np.arange(SYMBOLS) & 1
    return [(supports[one], chances[:, one]) for one in numbers]


def largest_ratio(mechanism: Collector, ticks: int, place: int = 0) -> float:
    """Return the worst log-ratio between truths that differ within a window."""
    truths = np.array(list(product(range(SYMBOLS), repeat=ticks)))
    likelihood = np.stack([path.likelihood for path in transcripts(mechanism, truths, place)])
    assert np.exp(likelihood).sum(axis=0) == pytest.approx(1.0, abs=1e-9)
    worst, window = 0.0, mechanism.window
    for first in range(max(1, ticks - window + 1)):
        kept = np.delete(truths, np.s_[first : first + window], axis=1)
        groups = np.unique(kept, axis=0, return_inverse=True)[1].ravel()
        for group in range(groups.max() + 1):
            some = likelihood[:, groups == group]
            worst = max(worst, float((some.max(axis=1) - some.min(axis=1)).max()))
    return worst


def reached(mechanism: Collector) -> float:
    """Return what a window is charged at most, in nats; all of epsilon where nothing decides."""
    if isinstance(mechanism, BudgetDivision):
        return in_nats(mechanism.rule.most)
    return mechanism.units / UNITS_PER_NAT


class EagerDistribution(CollectedBudgetDistribution):
    """Publish whenever the rule allows it: one user alone is too few for that to pay."""

    def _expected(self, tally: Tally, amount: Integers) -> Floats:
        return np.full(len(amount), -np.inf)


class EagerAbsorption(CollectedBudgetAbsorption):
    """Publish whenever the rule allows it."""

    def _expected(self, tally: Tally, amount: Integers) -> Floats:
        return np.full(len(amount), -np.inf)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("oracle", ["grr", "sue", "oue"])
@pytest.mark.parametrize(
    "kind",
    [
        CollectedUniform,
        CollectedSample,
        CollectedBudgetDistribution,
        CollectedBudgetAbsorption,
        CollectedPopulationUniform,
        EagerDistribution,
        EagerAbsorption,
    ],
)
def test_no_transcript_exceeds_epsilon_and_one_reaches_it(
    kind: type[Collector], window: int, oracle: OracleName
) -> None:
    ticks = 4 if oracle == "grr" else 3
    mechanism = kind(SYMBOLS, window=window, epsilon=1.0, oracle=oracle)
    worst = largest_ratio(mechanism, ticks)
    assert worst <= 1.0 + 1e-9
    decides = isinstance(mechanism, BudgetDivision)
    if ticks > window and (not decides or kind.__name__.startswith("Eager")):
        assert worst >= 0.99 * reached(mechanism)


def test_a_user_of_any_place_is_as_private() -> None:
    for place in (0, EVERYBODY // 3, EVERYBODY - 3):
        mechanism = CollectedPopulationUniform(SYMBOLS, window=3, epsilon=1.0, oracle="grr")
        assert 0.99 <= largest_ratio(mechanism, 4, place) <= 1.0 + 1e-9


class AskingTwice(CollectedSample):
    """Ask for a report with all of epsilon at every tick."""

    def _at_a_tick(self, tick: int) -> Instruction:
        return Instruction(self.units)


class Obeying(SharedBudget):
    """Follow every instruction."""

    def refused(self, spent: Spent, tick: int, instruction: Instruction) -> bool:
        return False


class AskingTheObeying(AskingTwice):
    """Have users who report as often as they are asked."""

    @property
    def reporting(self) -> Reporting:
        return Obeying(SYMBOLS, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick)


def test_users_who_report_as_often_as_they_are_asked_are_found() -> None:
    for kind, least, most in ((AskingTwice, 0.99, 1.0 + 1e-9), (AskingTheObeying, 1.98, 2.01)):
        mechanism = kind(SYMBOLS, window=2, epsilon=1.0, oracle="grr")
        assert least <= largest_ratio(mechanism, 3) <= most
