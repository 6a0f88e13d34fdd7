"""Filter noisy values into estimates, by moments of a growing series."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.operators.columns import copied
from fugu.operators.mechanism import Floats, Integers, State


@dataclass(frozen=True, eq=False)
class Moments:
    """Keep mean, variance and lag-1 autocorrelation of growing series, `(rows, series)`.

    All series of a row have as many values: `count (rows, 1)`. With d the values less the first
    one, S their sum, Q that of their squares, P that of products of neighbours, and m = S / n:

        variance        (Q - S^2 / n) / (n - 1)
        correlation     (P - m (2 S - d_n) + (n - 1) m^2) / (Q - S^2 / n)

    which is the sum of products of neighbours' deviations over the sum of squared deviations.
    Values far from zero lose nothing, because only their distances from the first one are squared.
    Fewer than two values, and values that are all equal, have variance and correlation 0. A gap
    between two values is not seen: they count as neighbours.

    >>> moments = Moments.none(rows=1, series=1)
    >>> for value in (1e9, 1e9 + 2, 1e9 + 3, 1e9 + 1):
    ...     moments = moments.pushed(np.array([[value]]))
    >>> [float(found[0, 0]) for found in (moments.mean, moments.variance, moments.correlation)]
    [1000000001.5, 1.6666666666666667, -0.15]

    Source: real-time release specification, section 3.
    """

    count: Integers
    shift: Floats
    total: Floats
    squares: Floats
    products: Floats
    last: Floats

    @classmethod
    def none(cls, rows: int, series: int) -> "Moments":
        """Return the moments of series without values."""
        columns = (np.zeros((rows, series)) for _ in range(5))
        return cls(np.zeros((rows, 1), dtype=np.int64), *columns)

    def pushed(self, values: Floats) -> "Moments":
        """Return the moments with one more value for each series."""
        shift = np.where(self.count == 0, values, self.shift)
        apart = values - shift
        return Moments(
            self.count + 1,
            shift,
            self.total + apart,
            self.squares + apart * apart,
            self.products + apart * self.last,
            apart,
        )

    @property
    def mean(self) -> Floats:
        """Return the mean; 0 of no values."""
        return self.shift + self._mean

    @property
    def variance(self) -> Floats:
        """Return the variance, with n - 1 in the denominator."""
        return self._spread / np.maximum(self.count - 1, 1)

    @property
    def correlation(self) -> Floats:
        """Return the correlation of neighbours."""
        mean, spread = self._mean, self._spread
        cross = self.products - mean * (2.0 * self.total - self.last)
        cross = cross + (self.count - 1) * (mean * mean)
        some = spread > 0.0
        return np.where(some, cross, 0.0) / np.where(some, spread, 1.0)

    @property
    def _mean(self) -> Floats:
        return self.total / np.maximum(self.count, 1)

    @property
    def _spread(self) -> Floats:
        """Return the sum of squared deviations."""
        return np.maximum(self.squares - self.total * self.total / np.maximum(self.count, 1), 0.0)


Booleans = NDArray[np.bool_]

LARGEST_CORRELATION = 0.995
GATE = 5.0
"""Standard deviations."""
LEAST_NOISE = 1e-9
"""The variance of the noise that public values are taken to have."""
LEAST_SHARE = 0.7
"""The least share of its own error that the mean squared surprise is taken to leave unseen."""
SPREAD_OF_WALKS = 27.0
"""Times its variance per step, a walk of n steps has n times that, in 19 of 20 cases."""
_MOMENTS = ("shift", "total", "squares", "products", "last")
_FORECAST = ("rising", "known", "drift")
"""The sum of t times the t-th value, less the first; and E and d."""


@dataclass(frozen=True)
class Told:
    """Tell what is known after a tick, `(rows, series)`: the estimate, and its standard error."""

    estimate: Floats
    error: Floats


@dataclass(frozen=True, eq=False)
class Prediction:
    """Tell what is known before a tick: the value, its squared error, and if both count."""

    value: Floats
    variance: Floats
    moves: Floats
    """The squared difference of a true value from what is to be expected of it."""
    most: Floats
    """The most that `moves` can be, by the variance of true values."""
    informed: Booleans


def start(rows: int, series: int) -> State:
    """Return the state of a filter that has seen nothing."""
    sums = ("noise", "surprises", "surprise", "expected")
    names = (*_MOMENTS, *sums, "estimate", "variance", *_FORECAST)
    return {
        "count": np.zeros((rows, 1), dtype=np.int64),
        "steps_ahead": np.zeros((rows, 1), dtype=np.int64),
        **{name: np.zeros((rows, series)) for name in names},
    }


def warm(rows: int, series: int, history: Sequence[Sequence[float]]) -> State:
    """Return the state of a filter that has just seen the `history` of each series, if there is
    one, as values with hardly any noise.

    Source: real-time release specification, section 3 (history).
    """
    state, exact = start(rows, series), np.full((rows, 1), LEAST_NOISE)
    for now in zip(*history, strict=True):
        state, _ = advance(state, np.tile(np.array(now), (rows, 1)), exact)
    return state


def predict(state: State, noise: Floats, weight: Floats | None = None) -> Prediction:
    """Predict the next tick, whose noise has the variance `noise (rows, 1)`.

    A tick t has a noisy value y of a true value z, with noise of variance tau^2. From the noisy
    values before it, let mu, s^2 and r be their mean, variance and correlation, n their number, and

        v = max(s^2 - mean tau^2, 0)                    the variance of true values
        rho = (r + 1/n) s^2 / v, from 0 to 0.995        the correlation of true values
        p = mu + k (x - mu)                             the prediction, from the last estimate x
        P = rho^2 F + v (1 - rho^2) + s^2 / n           how far it is off, from the last F

    where k is rho without a `weight`, and rho v / (v + w^2 tau^2) with a weight w. Source:
    real-time release specification, section 3.
    """
    moments = _moments(state)
    count = np.maximum(moments.count, 1)
    observed = moments.variance
    true = np.maximum(observed - state["noise"] / count, 0.0)
    correlated = np.clip(
        (moments.correlation + 1.0 / count) * observed, 0.0, LARGEST_CORRELATION * true
    )
    known = np.where(true > 0.0, true, 1.0)
    correlation = correlated / known
    pull = correlation
    if weight is not None:
        pull = correlation * (true / (known + weight * weight * noise))
    moves = true * (1.0 - correlation * correlation)
    return Prediction(
        moments.mean + pull * (state["estimate"] - moments.mean),
        correlation * correlation * state["variance"] + moves + observed / count,
        moves,
        SPREAD_OF_WALKS * true / count,
        moments.count >= 2,
    )


def advance(
    state: State, noisy: Floats, noise: Floats, weight: Floats | None = None
) -> tuple[State, Told]:
    """Filter `noisy (rows, series)` values with noise of variance `noise (rows, 1)`.

    In the terms of `predict`, the estimate is p + K (y - p), and F = (1 - K)^2 P + K^2 tau^2 how
    far that is off. Without a `weight` K = P / (P + tau^2): a Kalman filter; but K = 1, so that the
    estimate is y, where y is more than 5 sqrt(P + tau^2) from p, which is a spike or another level.
    With a weight w, K = w. The first two values are estimates themselves.

    The filter knows neither the model of z nor how well its parameters are known, so P is too small
    where they are badly estimated. What is said of the error therefore uses the larger of P and
    what is left of the mean squared surprise (y - p)^2 after the noise is subtracted, which needs
    no model, because the noise is independent of p; but at least 0.7 of the error that this mean
    itself has:

        standard error^2 = (1 - K)^2 max(P, D, 0.7 sqrt(2 / m) mean (y - p)^2) + K^2 tau^2
        D = mean (y - p)^2 - mean tau^2                 over the m surprises that were no spikes

    Arithmetic is elementwise + - * / and sqrt, so that the same series gives the same bytes in any
    company and on any machine. The filter sees nothing else of the data than noisy values.

    >>> state = start(rows=1, series=1)
    >>> for noisy in (100.0, 104.0, 97.0, 101.0, 500.0):
    ...     state, told = advance(state, np.array([[noisy]]), np.array([[9.0]]))
    ...     print(told.estimate[0, 0].round(2), told.error[0, 0].round(2))
    100.0 3.0
    104.0 3.0
    100.46 3.57
    100.64 2.12
    500.0 3.0

    Source: real-time release specification, sections 2 and 4.
    """
    prediction = predict(state, noise, weight)
    surprise = noisy - prediction.value
    spread = prediction.variance + noise
    if weight is None:
        tame = prediction.informed & (surprise * surprise <= GATE * GATE * spread)
        gain = np.where(tame, prediction.variance / spread, 1.0)
    else:
        tame = np.broadcast_to(prediction.informed, noisy.shape)
        gain = np.where(tame, weight, 1.0)
    estimate = np.where(gain == 1.0, noisy, prediction.value + gain * surprise)
    moments = _moments(state).pushed(noisy)
    after: State = {
        "count": moments.count,
        "steps_ahead": np.zeros_like(state["steps_ahead"]),
        **_columns(moments),
        "noise": state["noise"] + noise,
        "estimate": estimate,
        "variance": _left(gain, prediction.variance, noise),
        "surprises": state["surprises"] + tame,
        "surprise": state["surprise"] + np.where(tame, surprise * surprise, 0.0),
        "expected": state["expected"] + np.where(tame, noise, 0.0),
        "rising": state["rising"] + state["count"] * moments.last,
        "drift": np.zeros(noisy.shape),
    }
    after["known"] = _left(gain, _off(after, prediction), noise)
    return after, Told(estimate.copy(), np.sqrt(after["known"]))


def skip(state: State, noise: Floats, weight: Floats | None = None) -> tuple[State, Told]:
    """Pass a tick without a value: the estimate is the prediction, and F = P.

    A prediction is worse the further ahead it is. For the h-th tick in a row without a value

        standard error^2 = max(P, D, 0.7 sqrt(2 / m) mean (y - p)^2, E + h q + (d + h |b|)^2)
        q = min(max(v (1 - rho^2), D - E), 27 v / n)

    where E is the squared standard error of the last estimate, q what the truth moves by in a tick
    if moves have no direction, d how far predictions have gone back to the mean since, and b the
    slope of the straight line through the noisy values. (A walk of n steps with q has a variance of
    n q / 6, and in 19 of 20 cases more than n q / 27.) So bars hold, or nearly so, for a truth that
    goes back to its mean, one that wanders (a random walk) and one that goes on as it did (a ramp).
    """
    prediction = predict(state, noise, weight)
    after = copied(state)
    after["steps_ahead"] = state["steps_ahead"] + 1
    after["drift"] = state["drift"] + np.abs(prediction.value - state["estimate"])
    after["estimate"], after["variance"] = prediction.value, prediction.variance
    off = np.maximum(_off(state, prediction), _far_off(after, prediction))
    off = np.where(prediction.informed, off, np.nan)
    return after, Told(prediction.value.copy(), np.sqrt(off))


def _off(state: State, prediction: Prediction) -> Floats:
    """Return the squared error of predictions, by the model and by the surprises so far."""
    number = np.maximum(state["surprises"], 1.0)
    surprise = state["surprise"] / number
    least = LEAST_SHARE * surprise * np.sqrt(2.0 / number)
    return np.maximum(np.maximum(prediction.variance, _beyond_noise(state)), least)


def _beyond_noise(state: State) -> Floats:
    """Return the mean squared surprise less the noise in it."""
    number = np.maximum(state["surprises"], 1.0)
    return state["surprise"] / number - state["expected"] / number


def _far_off(state: State, prediction: Prediction) -> Floats:
    """Return the squared error of a prediction that is several ticks ahead of the last value."""
    ahead = state["steps_ahead"]
    seen = np.maximum(prediction.moves, _beyond_noise(state) - state["known"])
    moves = np.minimum(seen, prediction.most)
    straight = state["drift"] + ahead * np.abs(_slope(state))
    squared: Floats = state["known"] + ahead * moves + straight * straight
    return squared


def _slope(state: State) -> Floats:
    """Return the slope of the straight line that is nearest to all noisy values."""
    count = np.maximum(state["count"], 2).astype(np.float64)
    rise: Floats = state["rising"] - 0.5 * (count - 1.0) * state["total"]
    return rise / (count * (count * count - 1.0) / 12.0)


def _left(gain: Floats, off: Floats, noise: Floats) -> Floats:
    """Return the squared error of an estimate."""
    kept = 1.0 - gain
    return kept * kept * off + gain * gain * noise


def _moments(state: State) -> Moments:
    return Moments(state["count"], *(state[name] for name in _MOMENTS))


def _columns(moments: Moments) -> State:
    return {name: getattr(moments, name) for name in _MOMENTS}
