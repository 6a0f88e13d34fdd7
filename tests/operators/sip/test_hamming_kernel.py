"""The proposal for 0/1 distance: as good as every candidate, and near the best possible law."""

from math import exp

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from tests.operators.sip import dense, explicit_law
from tests.operators.sip.beliefs import random_beliefs, uniform
from tests.operators.sip.linear_program import least_error


def some_beliefs(symbols: int, rows: int) -> list[tuple[float, Floats, Floats]]:
    """(epsilon, one belief, the law computed for it), computed in batches."""
    rng = np.random.default_rng(symbols)
    cases = []
    for epsilon in [0.01, 15.0, *rng.uniform(0.1, 4.0, 10)]:
        belief = random_beliefs(rng, symbols, rows)
        law = dense.matrix(dense.bounded_law(belief, float(epsilon)))
        cases += [(float(epsilon), belief[:, row], law[:, :, row]) for row in range(rows)]
    return cases


@pytest.mark.parametrize("symbols", [1, 2, 3, 5, 8, 12])
def test_no_candidate_is_more_accurate(symbols: int) -> None:
    for epsilon, belief, law in some_beliefs(symbols, 10):
        accuracies = [
            explicit_law.accuracy(belief, a) for a in explicit_law.candidates(belief, epsilon)
        ]
        assert explicit_law.accuracy(belief, law) == pytest.approx(
            max(accuracies), abs=1e-11, rel=0
        )


@pytest.mark.parametrize("symbols", [2, 3, 5, 8])
def test_the_law_is_the_repaired_candidate_entry_by_entry(symbols: int) -> None:
    for epsilon, belief, law in some_beliefs(symbols, 10):
        if epsilon < 15.0:  # there, many candidates tie to the last bit
            expected = explicit_law.bounded(belief, epsilon)
            np.testing.assert_allclose(law, expected, rtol=0, atol=1e-12)


def test_the_partial_candidate_is_used_and_is_better() -> None:
    used = 0
    for epsilon, belief, law in some_beliefs(6, 40):
        partial = explicit_law.partial_candidate(belief, epsilon)
        if partial is not None:
            repaired = explicit_law.repaired(belief, partial, epsilon)
            *whole, last = explicit_law.candidates(belief, epsilon)
            best = max(explicit_law.accuracy(belief, a) for a in whole)
            if explicit_law.accuracy(belief, last) > best + 1e-9:
                np.testing.assert_allclose(law, repaired, rtol=0, atol=1e-12)
                used += 1
    assert used >= 10


def test_a_uniform_belief_keeps_every_symbol_it_can() -> None:
    for epsilon in (0.5, 1.0, 2.0):
        law = dense.matrix(dense.bounded_law(uniform(12)[:, None], epsilon))[:, :, 0]
        accuracy = explicit_law.accuracy(uniform(12), law)
        assert accuracy == pytest.approx(exp(epsilon) / 12, abs=1e-12)
        assert (law.max(axis=0) > 0.0).all()


@pytest.mark.slow
def test_two_symbols_follow_the_closed_form() -> None:
    rng = np.random.default_rng(6)
    for _ in range(2000):
        epsilon, least = rng.uniform(0.01, 5.0), 0.5 * rng.random()
        belief = np.array([1.0 - least, least])[:: rng.choice([-1, 1])]
        law = dense.matrix(dense.bounded_law(belief[:, None], epsilon))[:, :, 0]
        expected = explicit_law.least_error_of_two(least, epsilon)
        if least < 1.0 / (exp(epsilon) + 1.0) and 2.0 * exp(epsilon) * least <= 1.0:
            assert (law == law[0]).all()
        error = 1.0 - explicit_law.accuracy(belief, law)
        assert error == pytest.approx(expected, abs=1e-12)
        assert error <= 1.0 / (2.0 * exp(epsilon)) + 1e-12


@pytest.mark.parametrize(
    ("symbols", "mean_gap", "exact_cases"), [(2, 1e-12, 1.0), (4, 0.0007, 0.85), (8, 0.0016, 0.72)]
)
def test_the_gap_to_the_best_possible_law_is_that_of_the_specification(
    symbols: int, mean_gap: float, exact_cases: float
) -> None:
    """60 beliefs per n as in table 3.5, whose distribution is not stated; 3 standard errors."""
    rng = np.random.default_rng(35)
    gaps = []
    for _ in range(60):
        epsilon, concentration = rng.uniform(0.1, 3.0), rng.choice([0.2, 0.5, 1.0, 2.0, 5.0])
        belief = rng.dirichlet(np.full(symbols, concentration))
        law = dense.matrix(dense.bounded_law(belief[:, None], epsilon))[:, :, 0]
        gaps.append(1.0 - explicit_law.accuracy(belief, law) - least_error(belief, epsilon))
    assert min(gaps) >= -1e-9
    assert np.mean(gaps) <= mean_gap + 3.0 * np.std(gaps) / np.sqrt(60)
    spread = np.sqrt(exact_cases * (1.0 - exact_cases) / 60)
    assert np.mean(np.array(gaps) < 1e-7) >= exact_cases - 3.0 * spread
