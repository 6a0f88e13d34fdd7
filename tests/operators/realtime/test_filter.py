"""The filter against a plain second implementation, and what it does at edges."""

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.filter import Moments
from tests.operators.realtime import plain
from tests.operators.realtime.series import correlated

TICKS = 120


def run(noisy: Floats, variances: Floats, weights: Floats | None = None) -> Floats:
    """Estimates of `noisy (ticks, series)`."""
    state, estimates = filtering.start(1, noisy.shape[1]), []
    for tick, now in enumerate(noisy):
        weight = None if weights is None else weights[tick].reshape(1, 1)
        state, told = filtering.advance(state, now[None], variances[tick].reshape(1, 1), weight)
        estimates.append(told.estimate[0])
    return np.array(estimates)


def noisy_series(seed: int) -> tuple[Floats, Floats]:
    """Return series of several kinds, with noise that changes from tick to tick."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate(
        [
            correlated(rng, 2, 0.8, 27.78, TICKS),
            np.full((TICKS, 1), 100.0),
            np.cumsum(rng.normal(0.0, 3.0, (TICKS, 1)), axis=0),
            np.where(np.arange(TICKS) < TICKS // 2, 0.0, 1000.0)[:, None],
            1e9 + 2000.0 * (rng.random((TICKS, 1)) < 0.05),
        ],
        axis=1,
    )
    variances = rng.uniform(1.0, 60.0, TICKS)
    return truth + rng.normal(0.0, 1.0, truth.shape) * np.sqrt(variances)[:, None], variances


@pytest.mark.parametrize("seed", range(3))
def test_adaptive_estimates_are_those_of_a_plain_implementation(seed: int) -> None:
    noisy, variances = noisy_series(seed)
    estimates = run(noisy, variances)
    for number, series in enumerate(noisy.T.tolist()):
        expected = plain.adaptive(series, variances.tolist())
        assert estimates[:, number] == pytest.approx(np.array(expected), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_estimates_with_given_weights_are_those_of_a_plain_implementation(seed: int) -> None:
    noisy, variances = noisy_series(seed)
    weights = np.random.default_rng(seed).uniform(0.02, 1.0, TICKS)
    estimates = run(noisy, variances, weights)
    for number, series in enumerate(noisy.T.tolist()):
        expected = plain.fixed(series, variances.tolist(), weights.tolist())
        assert estimates[:, number] == pytest.approx(np.array(expected), rel=1e-9)


def test_a_mixture_with_noise_is_a_noisy_value_filtered() -> None:
    """Section 2: (1 - w) p + w z + n with noise n is p + w (y - p) with y = z + n / w."""
    rng = np.random.default_rng(1)
    truth, predicted, noise = rng.uniform(-1.0, 1.0, (3, 10**5))
    weight = rng.uniform(0.01, 1.0, 10**5)
    printed = (1.0 - weight) * predicted + weight * truth + noise
    ours = predicted + weight * (truth + noise / weight - predicted)
    assert np.abs(printed - ours).max() < 2e-15


def test_equal_values_have_no_correlation_and_no_estimate_is_nan() -> None:
    state, noise = filtering.start(1, 1), np.array([[4.0]])
    for _ in range(50):
        state, told = filtering.advance(state, np.array([[7.0]]), noise)
        prediction = filtering.predict(state, noise)
        assert told.estimate.tolist() == prediction.value.tolist() == [[7.0]]
        assert np.isfinite(told.error).all()
        assert filtering.predict({**state, "estimate": state["estimate"] + 1.0}, noise).value == 7.0


def test_a_value_far_from_its_prediction_is_taken_as_it_is() -> None:
    state, noise = filtering.start(1, 2), np.array([[4.0]])
    rng = np.random.default_rng(2)
    for _ in range(50):
        state, _ = filtering.advance(state, rng.normal(100.0, 2.0, (1, 2)), noise)
    prediction = filtering.predict(state, noise)
    gate = 5.0 * np.sqrt(prediction.variance + noise)
    noisy = prediction.value + gate * np.array([[1.001, 0.999]])
    _, told = filtering.advance(state, noisy, noise)
    assert told.estimate[0, 0] == noisy[0, 0]
    assert told.error[0, 0] == 2.0
    assert abs(told.estimate[0, 1] - prediction.value[0, 1]) < 0.5 * gate[0, 1]


def test_a_weight_of_1_is_the_noisy_value_to_the_last_bit() -> None:
    noisy, variances = noisy_series(4)
    assert run(noisy, variances, np.ones(TICKS)).tobytes() == noisy.tobytes()


def test_without_a_value_the_prediction_is_the_estimate_and_is_less_and_less_certain() -> None:
    rng, noise = np.random.default_rng(3), np.array([[1.0]])
    state = filtering.start(1, 1)
    for now in correlated(rng, 1, 0.8, 27.78, 200):
        state, _ = filtering.advance(state, now[None], noise)
    learned = {name: column.copy() for name, column in state.items()}
    state["estimate"][0, 0] = learned["estimate"][0, 0] = 115.0
    estimates, errors = [115.0], []
    for _ in range(60):
        predicted = filtering.predict(state, noise)
        state, told = filtering.skip(state, noise)
        assert told.estimate == predicted.value
        estimates.append(float(told.estimate[0, 0]))
        errors.append(float(told.error[0, 0]))
    assert errors == sorted(errors)
    assert np.sqrt(27.78) < errors[-1] < 5.0 * np.sqrt(27.78)
    assert estimates == sorted(estimates, reverse=True)
    assert estimates[-1] == pytest.approx(100.0, abs=2.0)
    assert state["steps_ahead"].tolist() == [[60]]
    for name in learned.keys() - {"estimate", "variance", "steps_ahead", "drift"}:
        assert state[name].tobytes() == learned[name].tobytes()


def test_before_two_values_nothing_is_known_of_a_missing_one() -> None:
    state, noise = filtering.start(1, 1), np.array([[1.0]])
    state, told = filtering.skip(state, noise)
    assert told.estimate.tolist() == [[0.0]]
    assert np.isnan(told.error).all()
    state, told = filtering.advance(state, np.array([[5.0]]), noise)
    assert (told.estimate.tolist(), told.error.tolist()) == ([[5.0]], [[1.0]])
    state, told = filtering.skip(state, noise)
    assert told.estimate.tolist() == [[5.0]]
    assert np.isnan(told.error).all()
    _, told = filtering.advance(state, np.array([[7.0]]), noise)
    assert (told.estimate.tolist(), told.error.tolist()) == ([[7.0]], [[1.0]])


# Streaming moments are those of a whole series, far from zero too.


def streamed(values: Floats) -> Moments:
    moments = Moments.none(*values.shape[1:])
    for now in values:
        moments = moments.pushed(now)
    return moments


def lag_one(values: Floats) -> Floats:
    apart = values - values.mean(axis=0)
    return np.asarray((apart[1:] * apart[:-1]).sum(axis=0) / (apart * apart).sum(axis=0))


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("number", [2, 3, 500])
def test_they_are_those_of_the_batch(shift: float, number: int) -> None:
    steps = np.random.default_rng(number).integers(-50, 51, (number, 4, 3)) / 8.0
    values = np.cumsum(steps, axis=0)
    moments = streamed(shift + values)
    assert moments.mean == pytest.approx(shift + values.mean(axis=0), rel=1e-12)
    assert moments.variance == pytest.approx(values.var(axis=0, ddof=1), rel=1e-9)
    assert moments.correlation == pytest.approx(lag_one(values), rel=1e-9, abs=1e-12)


def test_of_nothing_of_one_value_and_of_equal_values_they_are_zero() -> None:
    for number in range(3):
        moments = streamed(np.full((number, 1, 1), 7.3))
        assert moments.mean.tolist() == [[7.3 if number else 0.0]]
        assert moments.variance.tolist() == moments.correlation.tolist() == [[0.0]]


def test_a_first_value_far_away_costs_no_precision_that_matters() -> None:
    values = np.concatenate([[1e6], np.random.default_rng(1).normal(0.0, 5.0, 1000)])
    moments = streamed(values[:, None, None])
    assert moments.variance[0, 0] == pytest.approx(values.var(ddof=1), rel=1e-9)
