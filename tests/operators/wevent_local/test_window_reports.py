"""Reports under a budget of windows: their law, their budgets, and what may not be configured."""

from math import exp, log

import numpy as np
import pytest

from fugu.operators.budget_units import units_of
from fugu.operators.mechanism import Inputs, Kind, State
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, record_positions
from fugu.operators.wevent.pba import Markov, Released, Schedule
from fugu.operators.wevent_local.reports import ReportTicks, UnaryReports
from fugu.operators.wevent_local.strategies import (
    LocalBudgetAbsorption,
    LocalBudgetDistribution,
    LocalPrivacyBudgetAllocation,
    LocalSample,
    LocalUniform,
)
from fugu.operators.wevent_local.window_reports import LARGEST_ALPHABET, Measure, WindowReports
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value
from tests.thinned import first_in_test

ROWS = 16_000
ALWAYS = Schedule((True,))
MINUTES = ReportTicks(60_000)
KINDS: list[type[WindowReports]] = [
    LocalPrivacyBudgetAllocation,
    LocalBudgetDistribution,
    LocalBudgetAbsorption,
    LocalUniform,
    LocalSample,
]


def examples(kind: type[WindowReports]) -> tuple[Example, ...]:
    mechanisms = [
        kind(2, window=1, epsilon=1.0),
        kind(3, window=4, epsilon=2.0),
        kind(3, window=4, epsilon=2.0, dissimilarity="laplace"),
        kind(70, window=3, epsilon=50.0),
        kind(3, window=4, epsilon=2.0, ticks=MINUTES),
    ]
    return tuple(Example(one, np.arange(min(one.inputs, 5))) for one in mechanisms)


def flagged_examples(kind: type[LocalPrivacyBudgetAllocation]) -> tuple[Example, ...]:
    flags = [ALWAYS, Released(0.5), Schedule((True, False, True))]
    flagged = [kind(3, window=4, epsilon=20.0, flags=one) for one in flags]
    return (*examples(kind), *(Example(one, np.arange(3)) for one in flagged))


EXAMPLES: Examples = {
    **dict.fromkeys(KINDS, examples),
    LocalPrivacyBudgetAllocation: flagged_examples,
}
UNUSABLE: Unusable = {
    kind: {
        "symbols": (0, 1, -1, LARGEST_ALPHABET + 1),
        "window": (0, -1),
        "epsilon": (*EPSILONS, 50.1, 1e-20),
    }
    for kind in KINDS
}


def draws(rows: int, position: int) -> KeyedDraws:
    scope = DrawScope(Secret(bytes(range(32))), "tests", "reports", 1, bytes(32))
    return scope.draws([b"key"] * rows, record_positions("topic", position, range(rows)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dissimilarity", first_in_test(["response", "laplace"], 1))
def test_steps_draw_the_law_that_is_written_down(
    kind: type[WindowReports], dissimilarity: Measure
) -> None:
    """Follow many streams of the same symbols; each outcome comes as often as its law says.

    In the second and last position they are absent.
    """
    mechanism = kind(2, window=2, epsilon=4.0, dissimilarity=dissimilarity, ticks=MINUTES)
    state = mechanism.start(ROWS)
    for position, symbol in enumerate([1, 2, 0, 1, 2]):
        law = mechanism.release_law(state)[:, symbol]
        state, releases = mechanism.step(
            state, Inputs(np.full(ROWS, symbol)), draws(ROWS, position)
        )
        outcomes = mechanism.outcome_of(releases)
        expected = law.sum(axis=0)
        assert not np.isin(outcomes, np.flatnonzero(expected == 0.0)).any()
        common = np.flatnonzero(expected > 20.0)
        drawn = outcomes[np.isin(outcomes, common)]
        assert p_value(np.searchsorted(common, drawn), expected[common]) > SMALLEST_P_VALUE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dissimilarity", ["response", "laplace"])
def test_the_chance_of_a_new_report_is_that_of_the_law(
    kind: type[WindowReports], dissimilarity: Measure
) -> None:
    """On which unbiased readers rely."""
    mechanism = kind(3, window=3, epsilon=6.0, dissimilarity=dissimilarity)
    state = mechanism.start(40)
    for position in range(7):
        fresh = mechanism.release_law(state)[:, :, : 2**3].sum(axis=2)
        assert mechanism.report_chances(state) == pytest.approx(fresh, abs=1e-12)
        symbols = (np.arange(40) + position) % 3
        state, _ = mechanism.step(state, Inputs(symbols), draws(40, position))


@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_from_releases_is_the_state_of_a_step(kind: type[WindowReports]) -> None:
    mechanism = kind(3, window=3, epsilon=6.0)
    state, followed = mechanism.start(50), mechanism.start(50)
    for position in range(7):
        symbols = (np.arange(50) + position) % 3
        state, releases = mechanism.step(state, Inputs(symbols), draws(50, position))
        followed = mechanism.follow(followed, mechanism.outcome_of(releases))
        assert_same(state, followed)


def assert_same(one: State, other: State) -> None:
    assert one.keys() == other.keys()
    for name, column in one.items():
        np.testing.assert_array_equal(column, other[name], err_msg=name)


def test_a_report_flips_bits_as_printed() -> None:
    reports = UnaryReports(3)
    assert 2 * reports.flip_chance(units_of(0.025)) == pytest.approx(0.9937500814, abs=1e-10)
    for nats in (0.5, 1.0, 3.0):
        f = reports.flip_chance(units_of(nats))
        assert 2 * log((1 - f) / f) == pytest.approx(nats, rel=1e-12)
        assert 2 * log((1 - f) / f) <= nats * (1 + 1e-15)


@pytest.mark.parametrize(
    ("nats", "variance"), [(0.0125, 25599.92), (0.025, 6399.92), (0.1, 399.917), (1.0, 3.917698)]
)
def test_the_variance_of_a_count_is_the_printed_one(nats: float, variance: float) -> None:
    f = UnaryReports(2).flip_chance(units_of(nats))
    assert f * (1 - f) / (1 - 2 * f) ** 2 == pytest.approx(variance, rel=2e-6)
    assert exp(nats / 2) / (exp(nats / 2) - 1) ** 2 == pytest.approx(variance, rel=2e-6)


def test_a_silenced_position_is_repeated_and_costs_nothing() -> None:
    """The truth leaves the report at once, so with much budget every wish is for a new one."""
    mechanism = LocalPrivacyBudgetAllocation(3, window=3, epsilon=50.0, flags=ALWAYS)
    state, kinds, spent = mechanism.start(1), [], []
    for position, symbol in enumerate([0, 0, 1, 2, 0]):
        before = int(state["spent"][0])
        state, releases = mechanism.step(state, Inputs(np.array([symbol])), draws(1, position))
        assert releases.kinds is not None
        kinds.append(Kind(int(releases.kinds[0])))
        spent.append(int(state["spent"][0]) - before)
    fresh, repeated = Kind.FRESH, Kind.REPEATED
    share = mechanism.rule.decision
    assert kinds == [fresh, repeated, fresh, repeated, fresh]
    assert spent == [2 * share, share, 3 * share, 0, 2 * share]


def test_a_flag_by_a_model_looks_at_the_time_since_the_last_report() -> None:
    """A chain forgets: after some positions, the last report says little about the present."""
    matrix = ((0.9, 0.1), (0.1, 0.9))
    assert Markov(matrix, 0.5).flag
    flags = Markov(matrix, 0.5)
    mechanism = LocalPrivacyBudgetAllocation(2, window=9, epsilon=1.0, flags=flags)
    assert mechanism.guarantees()[0].epsilon == pytest.approx(1.0)
