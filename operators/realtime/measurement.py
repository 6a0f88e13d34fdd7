"""Measure series with Gaussian noise at every tick, and state what all measurements promise."""

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter

import numpy as np

from fugu.operators.columns import (
    ByteColumn,
    bytes_of,
    encode_field,
    encode_fields,
    table_of_fields,
)
from fugu.operators.digests import digests_of
from fugu.operators.guarantee import (
    BEYOND_A_PERIOD,
    BEYOND_A_WINDOW,
    CAP_CHOSEN_IN_PUBLIC,
    CAPPED,
    CLAMPED,
    CORRELATION,
    DEPENDENT_OTHERS,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    ONE_GROUP,
    OTHERS_KNOWN,
    SAME_PEOPLE,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    WINDOWS_INDEPENDENT,
    GaussianLoss,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import Draws, Floats, Integers
from fugu.operators.noise import gaussian_table as sampler
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.gaussian_table import PRECISION
from fugu.operators.noise.grid import RowGrids
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.allocation import (
    LARGEST_VALUE,
)
from fugu.operators.wevent.strategy import beyond

FILTER_WEIGHTS = Point(
    "filter-weights",
    "the weights of a filter, even if nobody knew them: they are not a secret, and hide nothing",
)
DECLARED = Point(
    "declared-in-public",
    "what the filter is told beforehand (a model, a history, weights), and shares of the budget: "
    "they are taken to be public. If they were made from the records that are protected, they say "
    "more about them, at a price that nobody counted",
)
_ACCOUNTING = Point(
    "gaussian-budget",
    "squares of sensitivity over deviation add up over ticks before they become epsilon and delta; "
    "finite precision is part of delta; a tick without a value costs nothing, and the filter is "
    "post-processing",
)
_SENSITIVITY = Point(
    "sensitivity-of-bins",
    "neighbouring inputs differ in at most {changed:,} of the {bins:,} bins of a tick, in each by "
    "at most {units:,} units: contributions are clamped, and there is at most one for each person "
    "and tick",
)
_PROOF_CAPPED = Point(
    "real-time-release-capped",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, sections 2, Theorem 1 (personal caps), and 4, Theorems 3 and 4",
)
_PROOF = Point(
    "real-time-release",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, section 4, Theorems 3 (exact account) and 4 (finite precision)",
)


def real_time_guarantee(
    *,
    epsilon: float,
    delta: float,
    period: int | None,
    cap: PersonalCap | None = None,
    bins: int,
    changed: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    squares: int,
    draws: int,
    declared: bool = False,
) -> Guarantee:
    """Return (epsilon, delta)-DP of all ticks together, of any `period` ticks in a row, or of an
    aligned period of a personal `cap`.

    `delta` includes that of finite precision; `squares` is what all `draws` may differ by;
    `declared`, whether the filter or the budget follows figures that somebody chose.
    Source: continual release specification, section 4.
    """
    whole = period is None and cap is None
    capped = () if cap is None else (CAPPED.of(at_most=cap.at_most, ticks=cap.ticks),)
    assumed: tuple[Point, ...] = (_SENSITIVITY.of(bins=bins, changed=changed, units=sensitivity),)
    if cap is not None:
        assumed = ONE_GROUP.of(units=sensitivity), CAP_CHOSEN_IN_PUBLIC
    beyond_one = BEYOND_A_WINDOW if cap is None else BEYOND_A_PERIOD
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=epsilon,
        delta=delta,
        per="stream" if whole else "window" if cap is None else "period",
        window=period if cap is None else cap.ticks,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=not whole,
        neighbours=neighbours,
        adversary=OTHERS_KNOWN if whole else WINDOWS_INDEPENDENT,
        accounting=(_ACCOUNTING, *capped),
        trust=EXACT_SUMS_SEEN,
        assumptions=(*assumed, KEYED_HASH),
        not_covered=(
            *(() if whole else (beyond_one, CORRELATION)),
            *beyond(neighbours),
            CLAMPED,
            SAME_PEOPLE,
            DEPENDENT_OTHERS,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            FILTER_WEIGHTS,
            *((DECLARED,) if declared else ()),
            SECRET,
        ),
        proof=_PROOF if cap is None else _PROOF_CAPPED,
        finite_precision_delta=0.0,
        loss=GaussianLoss(squares, draws),
    )


def beyond_windows(period: int | None) -> tuple[Point, ...]:
    """Return what a promise about windows leaves open; nothing where it is about all ticks."""
    return () if period is None else (BEYOND_A_WINDOW, CORRELATION)


_INNER = encode_fields(1, PRECISION)
"""One coordinate of a draw, and the precision of the sampler."""
_OUTER = len(encode_fields(0, 0) + _INNER).to_bytes(4, "little")
"""The length of what a draw is bound to, after the index."""


@dataclass(frozen=True)
class Measurement:
    """Measure vectors of which one person changes each bin by at most `sensitivity` units.

    Precision is the number s of grid steps that the sensitivity has: one changed bin moves by s
    steps exactly, whatever its values are, so nothing is lost by rounding, and `changed` bins cost
    changed * s^2 / 2^29 of rho. The noise has a deviation of 2^14 steps.

    >>> from fugu.operators.randomness import DrawScope, tick_position
    >>> from fugu.operators.randomness import Secret
    >>> scope = DrawScope(Secret(bytes(32)), "demo", "real", 1, bytes(32))
    >>> draws = scope.draws([b"zones"], [tick_position("vitals", 1)])
    >>> coarse = Measurement(sensitivity=1)
    >>> coarse.noisy(np.array([[500, 0]]), np.array([1000]), draws).round(1).tolist()
    [[519.8, 29.4]]
    >>> coarse.deviation(1000)
    16.384

    Source: noise specification, sections 2 and 4.
    """

    sensitivity: int

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        """Add noise of the precision `steps (rows,)` to `values (rows, bins)`; 0 where that is 0.

        It is that of `GaussianNoise`, of all rows at once, whatever their precision.
        """
        noisy, rows = np.zeros(values.shape), np.flatnonzero(steps > 0)
        if not len(rows):
            return noisy
        grids = RowGrids(self.sensitivity, steps[rows])
        index = grids.index(values[rows])
        words = draws_of(draws, rows, len(values)).words(
            "release",
            self._bound_to(index, steps[rows]),
            coordinates=index.shape[1],
            count=sampler.WORDS_PER_DRAW,
        )
        noisy[rows] = grids.value(index + sampler.sample(words))
        return noisy

    def _bound_to(self, index: Integers, steps: Integers) -> ByteColumn:
        """Return the digests of index and noise, as of `add_noise`, for each row."""
        table = np.concatenate(
            [
                table_of_fields(index.ravel()).reshape(len(index), -1),
                table_of_fields(steps, _OUTER + encode_field(self.sensitivity)),
            ],
            axis=1,
        )
        inner = np.tile(bytes_of(_INNER), (len(index), 1))
        return digests_of(ByteColumn.of_table(np.concatenate([table, inner], axis=1)))

    def deviation(self, steps: int) -> float:
        """Return the deviation of the noise, in units."""
        return float(_deviation(self.sensitivity, steps))

    def variance(self, steps: Integers) -> Floats:
        """Return the variance of the noise, in squared units; `steps` are positive."""
        most = self.deviation(1)
        precision = steps.astype(np.float64)
        return most * most / (precision * precision)

    def warning(self, steps: int) -> str | None:
        """Warn of a precision of few steps, where there is something to say."""
        return _noise(self.sensitivity, steps).warning


def _deviation(sensitivity: int, steps: int) -> Fraction:
    return Fraction(sensitivity << PRECISION, steps)


def _noise(sensitivity: int, steps: int) -> GaussianNoise:
    """Return the noise whose sensitivity is so many steps, with a deviation rounded down."""
    exact = _deviation(sensitivity, steps)
    deviation = float(exact)
    if deviation > exact:
        deviation = nextafter(deviation, 0.0)
    noise = GaussianNoise(sensitivity, deviation, -LARGEST_VALUE, LARGEST_VALUE)
    assert noise.index_sensitivity == steps
    return noise
