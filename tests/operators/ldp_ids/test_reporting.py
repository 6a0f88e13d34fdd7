"""The users' half keeps every user within the budget of a window, whatever it is told."""

from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import units_of
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.reporting import EVERYBODY, Instruction, Reporting, SharedBudget, Spent
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationAbsorption,
    CollectedPopulationUniform,
)
from fugu.operators.mechanism import Integers
from fugu.operators.randomness import DrawScope, Secret
from tests.operators.ldp_ids.rounds import KINDS, Users, rounds
from tests.operators.noise.simulated import SimulatedDraws

EPSILON = units_of(1.0)


def charges(mechanism: Collector, asked: list[Instruction], places: Integers) -> Integers:
    """Return what every user's reports of each tick are charged, `(ticks, users)`."""
    users = Users(mechanism, len(places), SimulatedDraws(np.random.default_rng(0)))
    if "place" in users.state:
        users.state["place"] = places.copy()
    charged = []
    for tick, instruction in enumerate(asked):
        reporting = users.reporting
        both = reporting.asked(users.state, len(places), users.spent, tick, instruction)
        charged.append(sum(one.rows * one.units for one in both))
        users.state, users.spent = reporting.after(users.state, users.spent, tick, both)
    return np.stack(charged)


def largest_window(charged: Integers, window: int) -> int:
    """Return the most that a user is charged in any so many ticks in a row."""
    sums = np.lib.stride_tricks.sliding_window_view(charged, window, axis=0).sum(axis=-1)
    return int(sums.max())


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("kind", [CollectedBudgetDistribution, CollectedBudgetAbsorption])
def test_no_instructions_at_all_overspend_a_budget(kind: type[Collector], window: int) -> None:
    """Every sequence over two windows, of nothing, parts, exactly the half, and more than that."""
    reporting = kind(2, window=window, epsilon=1.0).reporting
    amounts = [0, EPSILON // 8, EPSILON // 4, EPSILON // 2, EPSILON // 2 + 2, -5]
    assert 0.99 * EPSILON <= worst_window(reporting, amounts, 2 * window) <= EPSILON


def worst_window(reporting: Reporting, amounts: list[int], ticks: int) -> int:
    """Follow every sequence of amounts; return the most that a user is charged in a window."""
    paths: list[tuple[Spent, tuple[int, ...]]] = [({}, ())]
    worst = 0
    for tick in range(ticks):
        further = []
        for (spent, charged), amount in product(paths, amounts):
            both = reporting.asked({}, 1, spent, tick, Instruction(amount))
            _, after = reporting.after({}, spent, tick, both)
            window = (*charged, sum(int(one.rows[0]) * one.units for one in both))
            worst = max(worst, sum(window[-reporting.window :]))
            further.append((after, window))
        paths = further
    return worst


@pytest.mark.parametrize("window", [1, 2, 3])
def test_no_instructions_at_all_let_a_user_report_twice(window: int) -> None:
    """Every sequence of intervals, everybody among them, for places everywhere."""
    mechanism = CollectedPopulationAbsorption(2, window=window, epsilon=1.0)
    places = np.arange(0, EVERYBODY, EVERYBODY // 24)
    half = EVERYBODY // 2
    asked = [Instruction(), Instruction(half), Instruction(half // 2, half // 2)]
    asked += [Instruction(2**40, 2**50), Instruction(half // 3, -7)]
    worst = 0
    for sequence in product(asked, repeat=window + 1):
        charged = charges(mechanism, list(sequence), places)
        assert ((charged == 0) | (charged == EPSILON)).all()
        worst = max(worst, largest_window(charged, window))
    assert worst == EPSILON


def test_users_who_trust_the_collector_are_caught() -> None:
    """The same check finds a half that follows every instruction."""

    class Trusting(SharedBudget):
        def refused(self, spent: Spent, tick: int, instruction: Instruction) -> bool:
            return False

    honest = CollectedBudgetDistribution(2, window=2, epsilon=1.0).reporting
    trusting = Trusting(2, 2, honest.epsilon, honest.decision, "sue")
    assert worst_window(honest, [0, EPSILON // 2], 3) <= EPSILON
    assert worst_window(trusting, [0, EPSILON // 2], 3) > EPSILON


@pytest.mark.parametrize("kind", KINDS)
def test_no_user_is_charged_more_than_epsilon_by_the_collector(kind: type[Collector]) -> None:
    """With users who come and go, and counts that change all the time."""
    rng = np.random.default_rng(11)
    mechanism, window = kind(2, window=4, epsilon=1.0), 4
    symbols = rng.integers(-1, 2, size=(40, 500))
    asked = [one.instruction for one in rounds(mechanism, symbols, SimulatedDraws(rng))]
    places = rng.integers(EVERYBODY, size=500)
    assert largest_window(charges(mechanism, asked, places), window) <= EPSILON


def test_a_refused_instruction_is_known_as_such() -> None:
    reporting = CollectedBudgetDistribution(2, window=2, epsilon=1.0).reporting
    assert not reporting.refused({}, 7, Instruction(EPSILON // 2))
    assert reporting.refused({}, 7, Instruction(EPSILON // 2 + 1))
    assert reporting.refused({6: EPSILON // 4}, 7, Instruction(EPSILON // 2))
    assert not reporting.refused({5: EPSILON // 4}, 7, Instruction(EPSILON // 2))


def test_nobody_there_is_charged_nothing() -> None:
    reporting = CollectedBudgetDistribution(2, window=2, epsilon=1.0).reporting
    asked = reporting.asked({}, 0, {}, 7, Instruction(EPSILON // 4))
    assert reporting.after({}, {}, 7, asked)[1] == {}


def test_places_are_drawn_once_and_split_users_evenly() -> None:
    reporting = CollectedPopulationUniform(2, window=4, epsilon=1.0).reporting
    scope = DrawScope(Secret(bytes(32)), "tests", "places", 1, bytes(32))
    draws = scope.draws([b"%d" % n for n in range(4_000)], [b"place"] * 4_000)
    placed = reporting.placed(reporting.start(4_000), draws)
    groups = np.bincount(placed["place"] * 4 // EVERYBODY, minlength=4)
    assert np.abs(groups - 1_000).max() < 5 * np.sqrt(750)
    again = reporting.placed(placed, scope.draws([b"other"] * 4_000, [b"place"] * 4_000))
    assert again["place"].tolist() == placed["place"].tolist()


def test_rows_are_in_use_while_their_window_lasts() -> None:
    reporting = CollectedPopulationUniform(2, window=4, epsilon=1.0).reporting
    state = {**reporting.start(3), "reported": np.array([10, 7, 6])}
    assert np.asarray(reporting.in_use(state, 10)).tolist() == [True, True, False]
    assert np.asarray(reporting.in_use(reporting.start(1), -5)).tolist() == [False]
