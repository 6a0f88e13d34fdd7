"""Collectors of private reports: what they release, decide and ask for."""

from itertools import pairwise

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.ldp_ids.collector import LARGEST_WINDOW, Collector
from fugu.operators.ldp_ids.deciding import DecidingCollector
from fugu.operators.ldp_ids.oracles import LARGEST_ALPHABET, ORACLES, OracleName
from fugu.operators.ldp_ids.reporting import EVERYBODY, NOTHING, Tally
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationAbsorption,
    CollectedPopulationDistribution,
    CollectedPopulationUniform,
    CollectedSample,
    CollectedUniform,
)
from fugu.operators.mechanism import Floats, Inputs, Integers, Kind
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.ldp_ids.rounds import BY_BUDGET, BY_POPULATION, DECIDING, KINDS, rounds
from tests.operators.noise.simulated import SimulatedDraws

MANY = 10**12
"""So many users that noise decides nothing: a change is seen, and nothing else."""
DRAWS = SimulatedDraws(np.random.default_rng(1))


def examples(kind: type[Collector]) -> tuple[Example, ...]:
    mechanisms = [
        kind(2, window=1, epsilon=1.0),
        kind(3, window=4, epsilon=2.0),
        kind(3, window=4, epsilon=2.0, oracle="grr"),
        kind(3, window=4, epsilon=2.0, oracle="oue"),
        kind(40, window=3, epsilon=20.0),
    ]
    return tuple(Example(one, tallies(one.symbols)) for one in mechanisms)


def tallies(symbols: int) -> Integers:
    """No user, few of them, and many, of whom half or all report."""
    rng = np.random.default_rng(symbols)
    vectors = []
    for present, reports in ((0, (0, 0)), (5, (2, 3)), (9_000, (4_000, 5_000)), (700, (700, 700))):
        supports = [rng.integers(0, count + 1, size=symbols) for count in reports]
        vectors.append(np.concatenate([[present, *reports], *supports]))
    return np.stack(vectors)


EXAMPLES: Examples = dict.fromkeys(KINDS, examples)
UNUSABLE: Unusable = {
    kind: {
        "symbols": (0, 1, -1, LARGEST_ALPHABET + 1),
        "window": (0, -1, LARGEST_WINDOW + 1),
        "epsilon": (*EPSILONS, 20.1, 1e-20),
        "tick_milliseconds": (0, -1),
    }
    for kind in KINDS
}


def as_told(
    mechanism: Collector, decision: tuple[Floats, int], publication: tuple[Floats, int]
) -> Integers:
    """Return the tally whose estimates are these counts, of reports with so many units; 0: none."""
    reports, supports = [], []
    for counts, units in (decision, publication):
        reports.append(MANY if units else 0)
        law = mechanism.law(units) if units else None
        expected = 0 * counts if law is None else counts * (law.p - law.q) + MANY * law.q
        supports.append(np.rint(expected).astype(np.int64))
    return np.concatenate([[MANY, *reports], *supports])


def asked(mechanism: DecidingCollector, wishes: list[bool]) -> list[int]:
    """Return what is asked at each tick and the one after it, where decisions wish so."""
    state, amounts = mechanism.start(1), [NOTHING.amount]
    figures, other = np.array([MANY, 0.0, 0.0]), np.array([0.0, MANY, 0.0])
    for wish in wishes:
        published = bool(amounts[-1]) or bool(state["budget"][0])
        held = figures if published else np.full(3, MANY / 3)
        decision = mechanism._units(mechanism.rule.decision)
        publication = mechanism._units(amounts[-1]) if amounts[-1] else 0
        tally = as_told(mechanism, (other if wish else held, decision), (figures, publication))
        state, _ = mechanism.step(state, Inputs(tally[None]), DRAWS)
        instruction = mechanism.instruction(state)
        assert instruction is not None
        amounts.append(instruction.amount)
    return amounts


ALWAYS = [True] * 9


def test_distribution_halves_what_the_window_has_left() -> None:
    """Section 2.2: all publish, w = 3; the first tick has nothing that decides."""
    mechanism = CollectedBudgetDistribution(3, window=3, epsilon=1.0)
    amounts = asked(mechanism, ALWAYS)
    shares = [1 / 4, 1 / 8, 1 / 16, 5 / 32, 9 / 64, 13 / 128, 33 / 256, 69 / 512, 121 / 1024]
    assert [amount / UNITS_PER_NAT for amount in amounts] == [0.0, *shares]


def test_absorption_takes_skipped_ticks_and_is_silent_for_as_many() -> None:
    """epsilon / 2w is 1/8. A decision wishes for the next tick, which may be silent."""
    mechanism = CollectedBudgetAbsorption(3, window=4, epsilon=1.0)
    amounts = asked(mechanism, [True, True, False, False, True, True, True, True, True])
    in_parts = [amount * 8 / UNITS_PER_NAT for amount in amounts]
    assert in_parts == [0, 2, 0, 0, 0, 3, 0, 0, 1, 1]


def test_users_are_spread_by_the_same_rules() -> None:
    by_budget, by_users = (
        asked(kind(3, window=3, epsilon=1.0), ALWAYS)
        for kind in (CollectedBudgetDistribution, CollectedPopulationDistribution)
    )
    assert [amount / EVERYBODY for amount in by_users] == [
        amount / UNITS_PER_NAT for amount in by_budget
    ]
    absorbed = asked(CollectedPopulationAbsorption(3, window=4, epsilon=1.0), [True, *[False] * 8])
    assert [amount * 8 / EVERYBODY for amount in absorbed[:3]] == [0, 2, 0]


@pytest.mark.parametrize("kind", BY_POPULATION)
def test_publications_go_round_the_users(kind: type[DecidingCollector]) -> None:
    """Those of a window never overlap, on the circle of all who do not decide."""
    mechanism, draws = kind(2, window=4, epsilon=8.0), SimulatedDraws(np.random.default_rng(2))
    pool = EVERYBODY - 4 * mechanism.rule.decision
    symbols = np.array([np.full(4_000, (tick // 2) % 2) for tick in range(30)])
    told = [one.instruction for one in rounds(mechanism, symbols, draws)]
    assert sum(one.amount > 0 for one in told) > 8
    for first in range(len(told) - 3):
        window = [one for one in told[first : first + 4] if one.amount]
        assert sum(one.amount for one in window) <= pool
        for one, other in pairwise(window):
            assert other.first == (one.first + one.amount) % pool


@pytest.mark.parametrize("kind", DECIDING)
def test_nothing_is_published_before_a_decision(kind: type[DecidingCollector]) -> None:
    mechanism, draws = kind(4, window=2, epsilon=8.0), SimulatedDraws(np.random.default_rng(3))
    first, second, *_ = rounds(mechanism, np.zeros((3, 1_000), dtype=np.int64), draws)
    assert first.releases.values.tolist() == [[250.0] * 4]
    assert first.releases.kinds is not None
    assert first.releases.kinds.tolist() == [Kind.REPEATED]
    assert np.isnan(first.releases.annotations["standard_error"]).all()
    assert second.releases.annotations["published"].all()
    assert abs(second.releases.values[0, 0] - 1_000) < 6 * 250


@pytest.mark.parametrize("kind", DECIDING)
def test_steady_counts_are_repeated(kind: type[DecidingCollector]) -> None:
    """Half of the comparisons of a figure with its like come out above what a new one would err."""
    draws = SimulatedDraws(np.random.default_rng(4))
    mechanism = kind(2, window=5, epsilon=20.0)
    symbols = np.zeros((40, 3_000), dtype=np.int64)
    symbols[20:] = 1
    done = list(rounds(mechanism, symbols, draws))
    published = [bool(one.releases.annotations["published"][0]) for one in done]
    assert published[21]
    assert sum(published) < 35
    assert abs(done[-1].releases.values[0, 1] - 3_000) < 600


@pytest.mark.parametrize("kind", KINDS)
def test_a_tick_without_users_repeats_the_last_figures(kind: type[Collector]) -> None:
    draws = SimulatedDraws(np.random.default_rng(6))
    mechanism = kind(2, window=2, epsilon=8.0)
    symbols = np.zeros((7, 500), dtype=np.int64)
    symbols[4:] = -1
    done = list(rounds(mechanism, symbols, draws))
    last = done[3].releases.values
    for one in done[4:]:
        assert one.tally.tolist() == [0] * 7
        assert one.releases.values.tolist() == last.tolist()
        assert one.releases.annotations["users"].tolist() == [0]
        assert not one.releases.annotations["published"].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("oracle", ORACLES)
def test_figures_are_unbiased_and_err_as_they_say(
    kind: type[Collector], oracle: OracleName
) -> None:
    """Over many populations of the same true counts; a tenth of the users is away."""
    runs, truth = 120, np.array([450, 300, 150])
    symbols = np.repeat([0, 1, 2, -1], [*truth, 100])
    rng = np.random.default_rng(KINDS.index(kind) * 10 + ORACLES.index(oracle))
    mechanism, found, said = kind(3, window=2, epsilon=8.0, oracle=oracle), [], []
    for _ in range(runs):
        done = list(rounds(mechanism, np.stack([symbols, symbols]), SimulatedDraws(rng)))
        published = [one for one in done if one.releases.annotations["published"][0]]
        if published:
            found.append(published[0].releases.values[0])
            said.append(published[0].releases.annotations["standard_error"][0])
    assert len(found) > 0.9 * runs
    errors = np.stack(found) - truth
    typical = np.sqrt((errors**2).mean(axis=0))
    assert (np.abs(errors.mean(axis=0)) < 5 * typical / np.sqrt(len(found))).all()
    measured = np.sqrt((errors**2).mean())
    assert measured < 1.25 * np.mean(said)
    assert measured > 0.7 * np.mean(said)


def test_the_error_of_lbu_is_that_of_the_specification() -> None:
    """Section 9: the mean absolute error is sqrt(2 n v(epsilon / w) / pi)."""
    mechanism = CollectedUniform(50, window=10, epsilon=1.0)
    said = mechanism.law(mechanism.first_units).spread * 2_000
    assert np.sqrt(2 / np.pi * said) == pytest.approx(711, rel=0.01)


def test_reports_of_several_partitions_add_up() -> None:
    one, other = tallies(3)[1:3]
    both = Tally.of((one + other)[None], 3)
    assert both.present.tolist() == [9_005]
    assert both.vectors[0].tolist() == (one + other).tolist()


def test_a_tally_of_another_alphabet_is_refused() -> None:
    mechanism = CollectedSample(3, window=2, epsilon=1.0)
    with pytest.raises(ValueError, match="tallies of 9 numbers"):
        mechanism.step(mechanism.start(1), Inputs(np.zeros((1, 7), dtype=np.int64)), DRAWS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_oracle_that_does_not_exist_is_refused(kind: type[Collector]) -> None:
    with pytest.raises(ValueError, match="oracle: must be one of sue, grr, oue"):
        kind(3, window=2, epsilon=1.0, oracle="olh")  # type: ignore[arg-type]


def test_what_is_asked_is_within_the_budget_of_a_window() -> None:
    """Check the rule itself; users keep to it whatever is asked (`test_reporting`)."""
    for kind in BY_BUDGET:
        mechanism = kind(3, window=5, epsilon=1.0)
        amounts = asked(mechanism, [True, False, False, True, True] * 5)
        for first in range(len(amounts) - 4):
            spent = sum(amounts[first : first + 5]) + 5 * mechanism.rule.decision
            assert spent <= units_of(1.0)
    assert CollectedPopulationUniform(3, window=4, epsilon=1.0).first_share == 0.25
