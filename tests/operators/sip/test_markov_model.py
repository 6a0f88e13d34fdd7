"""The Markov model: what is refused, what smoothing does, what a prediction is."""

from math import inf, nan

import numpy as np
import pytest

from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.sparse_models import SparseRows

HALVES = [0.5, 0.5]


@pytest.mark.parametrize(
    ("prior", "transition", "message"),
    [
        ([], [], "prior: needs at least one symbol"),
        ([0.5, 0.6], [HALVES, HALVES], "prior: probabilities must sum to 1, they sum to 1.1"),
        ([1.5, -0.5], [HALVES, HALVES], "prior: probabilities must not be negative"),
        ([nan, 0.5], [HALVES, HALVES], "prior: every entry must be a finite number"),
        (HALVES, [HALVES, [0.5, 0.6]], "transition row 1: probabilities must sum to 1"),
        (HALVES, [[2.0, -1.0], HALVES], "transition row 0: probabilities must not be negative"),
        (HALVES, [HALVES, [inf, 0.0]], "transition row 1: every entry must be a finite number"),
        (HALVES, [HALVES, [1.0]], "transition row 1: has 1 entries, but the prior has 2 symbols"),
        (HALVES, [HALVES, []], "transition row 1: needs at least one symbol"),
        (HALVES, [HALVES], r"transition: shape is \(1, 2\), but 2 symbols need \(2, 2\)"),
        (HALVES, [], r"transition: shape is \(0, 2\), but 2 symbols need \(2, 2\)"),
    ],
)
def test_a_bad_model_is_refused_and_the_row_is_named(
    prior: list[float], transition: list[list[float]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MarkovModel.smoothed(prior, transition, smoothing=0.01)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 2.0, nan, inf])
def test_smoothing_outside_zero_to_one_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match="smoothing: must be at least 0 and below 1"):
        MarkovModel.smoothed(HALVES, [HALVES, HALVES], smoothing)


def test_a_zero_is_refused_and_the_row_is_named() -> None:
    with pytest.raises(ValueError, match=r"prior: has a zero \(column 1\)"):
        MarkovModel.smoothed([1.0, 0.0], [HALVES, HALVES], 0.0)
    with pytest.raises(ValueError, match=r"transition row 1: has a zero \(column 0\); set "):
        MarkovModel.smoothed(HALVES, [HALVES, [0.0, 1.0]], 0.0)


@pytest.mark.parametrize(
    ("prior", "transition", "message"),
    [
        (np.full((2, 2), 0.5), np.full((2, 2), 0.5), "prior: must be a list of 2 probabilities"),
        (np.full(2, 0.5), np.full((2, 3), 1 / 3), "transition: shape is"),
        (np.full(2, 0.5), np.full(2, 0.5), "transition: shape is"),
        (np.array([0.5, 0.5 + 5e-7]), np.full((2, 2), 0.5), "prior: sums to 1"),
    ],
)
def test_arrays_that_are_no_model_are_refused(
    prior: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    transition: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        MarkovModel(prior, transition)


def test_smoothing_mixes_every_row_with_the_uniform_one() -> None:
    model = MarkovModel.smoothed([1.0, 0.0, 0.0], np.eye(3), smoothing=0.03)
    expected = np.full((3, 3), 0.01) + 0.97 * np.eye(3)
    np.testing.assert_allclose(model.transition, expected, rtol=1e-15)
    np.testing.assert_allclose(model.prior, expected[0], rtol=1e-15)
    assert model.symbols == 3


def test_rounded_probabilities_are_normalised() -> None:
    thirds = [0.3333333] * 3
    model = MarkovModel.smoothed(thirds, [thirds] * 3, smoothing=0.0)
    np.testing.assert_allclose(model.prior, 1 / 3, rtol=1e-15)
    np.testing.assert_allclose(model.transition, 1 / 3, rtol=1e-15)


def test_a_prediction_is_the_posterior_times_the_transition_matrix() -> None:
    rng = np.random.default_rng(4)
    for n in (1, 2, 5):
        transition = rng.dirichlet(np.ones(n), n)
        model = MarkovModel.smoothed(rng.dirichlet(np.ones(n)), transition, 0.0)
        posterior = rng.dirichlet(np.ones(n), 7).T
        predicted = model.predict(posterior)
        for row in range(7):
            for v in range(n):
                expected = sum(posterior[u, row] * transition[u, v] for u in range(n))
                assert predicted[v, row] == pytest.approx(expected, abs=1e-15)


def test_a_model_is_a_copy_and_cannot_be_changed() -> None:
    prior, transition = np.full(2, 0.5), np.full((2, 2), 0.5)
    model = MarkovModel(prior, transition)
    prior[0], transition[0, 0] = 0.9, 0.9
    assert model.prior.tolist() == HALVES
    assert model.transition.tolist() == [HALVES, HALVES]
    for frozen in (model.prior, model.transition):
        with pytest.raises(ValueError, match="read-only"):
            frozen[0] = 0.1


def test_the_chain_forgets_at_least_as_fast_as_it_says() -> None:
    """Hilbert's projective distance shrinks to 1 - 2/(ratio + 1) of itself, or less."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        n = int(rng.integers(2, 6))
        model = MarkovModel.smoothed(np.full(n, 1 / n), rng.dirichlet(np.full(n, 0.5), n), 0.05)
        ratio = max(model.transition[:, v].max() / model.transition[:, v].min() for v in range(n))
        assert model.forgetting_ratio == pytest.approx(ratio)
        left, right = rng.dirichlet(np.ones(n), 2) + 1e-9
        before = np.log(left / right)
        after = np.log((left @ model.transition) / (right @ model.transition))
        assert np.ptp(after) <= (1.0 - 2.0 / (ratio + 1.0)) * np.ptp(before) + 1e-12


def test_a_probability_whose_products_leave_the_doubles_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^transition row 1: has an entry below 1e-100 \(column 0"
    ):
        MarkovModel(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [1e-120, 1.0]]))
    with pytest.raises(ValueError, match=r"^transition row 0, column 1: is below 1e-100"):
        SparseRows.smoothed([({0: 1.0, 1: 1e-120}, 0.0), ({1: 1.0}, 0.0)], 2, smoothing=0.0)
    with pytest.raises(ValueError, match=r"^transition row 0: has a zero \(column 1\)"):
        SparseRows.smoothed([({0: 1.0}, 0.0), ({1: 1.0}, 0.0)], 2, smoothing=1e-110)
