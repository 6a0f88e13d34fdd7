"""Choose the precision of factorised noise, and state what running totals promise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter, sqrt

import numpy as np

from fugu.operators.columns import binding_digest
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
    WideGaussianLoss,
)
from fugu.operators.mechanism import Draws, Floats, Integers
from fugu.operators.noise import gaussian_table, wide_gaussian
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian import VARIANCE, squares_of
from fugu.operators.noise.gaussian_table import ANY_STEPS, PRECISION, delta_of_draw, delta_of_draws
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.randomness import draws_of
from fugu.operators.totals.buffers import Buffers, participation, root_above, root_below
from fugu.operators.totals.fitted import LARGEST_TICKS
from fugu.operators.wevent.strategy import beyond

_LARGEST_STATE = 2**61
_WORTH_IT = Fraction(1, 100)
"""The share of the deviation that rounding may cost before draws are wide."""


@dataclass(frozen=True)
class Changes:
    """Say by how much inputs differ that are neighbours.

    Neighbours count in at most `counted` of so many `ticks`, any two of them at least `apart`. The
    squares of their difference are at most `factor` times those of one contribution of `amount`
    units to each. They differ in at most `groups` groups.
    """

    ticks: int
    counted: int
    factor: int
    amount: int
    groups: int
    apart: int = 1

    @classmethod
    def of_period(cls, cap: PersonalCap, amount: int, bins: int, apart: int = 1) -> "Changes":
        """Return by how much what one person contributes to a period of a cap may change it."""
        if cap.ticks > LARGEST_TICKS:
            raise ValueError(
                f"personal_cap: a period has at most {LARGEST_TICKS:,} ticks, not {cap.ticks}"
            )
        groups = min(bins, 2 * cap.counted)
        return cls(cap.ticks, cap.counted, cap.factor, amount, groups, apart)

    @property
    def indices(self) -> int:
        """Return in how many indices neighbours may differ: later ones hold the changed ones."""
        return self.ticks * self.groups


@dataclass(frozen=True)
class Precision:
    """Choose the scale of factorised noise: the largest at which (epsilon, delta) holds in full.

    Claim. Indices q and q' of neighbours differ by at most sqrt(squares) in L2: s times what the
    matrix makes of what they differ by, and at most e steps of rounding for each index. Noise of
    the deviation of a draw then keeps (epsilon, delta) by the exact account, of whose delta the
    part `reserved` is for finite precision.

    `scale` is a, that of a unit in units of 2^-F steps, the largest integer that satisfies it.
    Draws are `wide` where rounding would cost more than a hundredth of the deviation otherwise, and
    their finite precision less than a hundredth of delta.
    Raises `ValueError` where delta does not cover finite precision, and `BudgetBelowResolution`
    where no scale is left.

    >>> buffers = Buffers((182185096, 115304809), (4165248134, 4282929292))
    >>> changes = Changes(ticks=1000, counted=10, factor=2, amount=1, groups=6)
    >>> scale_of(buffers, changes, squares=112621999)
    1238386

    Source: continual release specification, sections 3 (rounding, wide draws) and 4.
    """

    buffers: Buffers
    changes: Changes
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if self.reserved >= Fraction(self.delta):
            raise ValueError(
                f"delta: {self.delta:g} does not cover what finite precision adds to so many "
                f"ticks and groups, about {float(self.reserved):.2g}; give more, or a shorter "
                "horizon or period"
            )
        if self.scale < 1:
            raise BudgetBelowResolution(
                "epsilon, delta: pay for no measurement at all; give more, let people count in "
                "fewer ticks, or make the unit of amounts larger"
            )

    @cached_property
    def reserved(self) -> Fraction:
        """Return the part of delta for finite precision; parts of wide draws move by any steps."""
        if self.wide:
            return self.draws * delta_of_draw(ANY_STEPS, self.epsilon)
        most = squares_of(self.epsilon, self.delta)
        return delta_of_draws(self.draws, most, self.epsilon)

    @cached_property
    def wide(self) -> bool:
        """Return whether draws are wide: roundings cost much, and finite precision does not."""
        root = root_below(Fraction(squares_of(self.epsilon, self.delta)))
        lost = _of_rounding(self.buffers, self.changes)
        draws = wide_gaussian.DRAWS * self.changes.indices
        added = draws * delta_of_draw(ANY_STEPS, self.epsilon)
        return lost > _WORTH_IT * root and added < _WORTH_IT * Fraction(self.delta)

    @property
    def variance(self) -> int:
        """Return the variance of a draw, for which squared steps are counted."""
        return int(wide_gaussian.VARIANCE if self.wide else VARIANCE)

    @property
    def parts(self) -> int:
        """Return how many draws of the table the noise of one index takes."""
        return wide_gaussian.DRAWS if self.wide else 1

    def alike(self, squares: int) -> int:
        """Return squared steps of draws that are not wide which lose as much."""
        return -int(-squares * VARIANCE // self.variance)

    @cached_property
    def squares(self) -> int:
        """Return the most squared steps by which indices of neighbours differ."""
        left = Fraction(self.delta) - self.reserved
        nearest = float(left)
        below = nextafter(nearest, 0.0) if nearest > left else nearest
        return squares_of(self.epsilon, below, self.variance)

    @cached_property
    def scale(self) -> int:
        """Return a."""
        return scale_of(self.buffers, self.changes, self.squares)

    @property
    def draws(self) -> int:
        """Return how many draws of the table differ between neighbours, at most."""
        return self.changes.indices * self.parts

    @property
    def loss(self) -> GaussianLoss:
        """Return what all releases lose; squares of wide draws count as those of single ones."""
        if not self.wide:
            return GaussianLoss(self.squares, self.draws)
        return WideGaussianLoss(self.alike(self.squares), self.draws)

    @property
    def steps_of_unit(self) -> float:
        """Return s: how many steps a unit has."""
        return self.scale / (1 << self.buffers.guard_bits)

    @property
    def noise(self) -> float:
        """Return the deviation of the noise of a measurement, in units."""
        squared = wide_gaussian.SQUARED_DEVIATION if self.wide else 4**PRECISION
        return sqrt(squared) / self.steps_of_unit

    @property
    def noise_of_a_change(self) -> float:
        """Return the deviation that the noise on a unit has where one tick changes by one."""
        return sqrt(self.variance / self.squares)

    @property
    def error_of_separate_noise(self) -> float:
        """Return the root mean square error of totals, had each tick noise of its own, for the same
        promise."""
        changes = self.changes
        steps = changes.factor * changes.counted * (changes.ticks + 1) / 2
        return sqrt(steps) * changes.amount * self.noise_of_a_change

    @cached_property
    def largest(self) -> int:
        """Return the largest value, a power of two, with which 64 bits are enough."""
        largest = 1
        while self.buffers.largest_index(2 * largest, self.scale) < _LARGEST_STATE:
            largest *= 2
        return largest


def scale_of(buffers: Buffers, changes: Changes, squares: int) -> int:
    """Return the largest scale at which indices of neighbours differ by so many squares at most."""
    root = root_below(Fraction(squares)) - _of_rounding(buffers, changes)
    if root <= 0:
        return 0
    unit = participation(buffers, changes.ticks, changes.counted, changes.apart)
    moved = root_above(changes.factor * changes.amount**2 * unit)
    return int(root * 2**buffers.guard_bits / moved)


def _of_rounding(buffers: Buffers, changes: Changes) -> Fraction:
    """Return what roundings of all indices that may differ add up to, in steps, rounded up."""
    return root_above(buffers.rounding**2 * changes.indices)


def measured_rows(
    precision: Precision, index: Integers, rows: Integers, draws: Draws, silent: int = 0
) -> Floats:
    """Return noisy indices of `rows`, and zeros of the others, shape `(rows, bins)`.

    A draw is bound to the indices of its tick, and to its number among `silent` ones, if it is one.
    """
    measured = np.zeros(index.shape)
    if len(rows):
        which = (silent,) if silent else ()
        bindings = [binding_digest(row.tobytes(), *which) for row in index[rows].astype(">i8")]
        words = draws_of(draws, rows, len(index)).words(
            "release",
            bindings,
            coordinates=index.shape[1] * precision.parts,
            count=gaussian_table.WORDS_PER_DRAW,
        )
        sampler = wide_gaussian if precision.wide else gaussian_table
        measured[rows] = index[rows] + sampler.sample(words)
    return measured


TOTALS = Point(
    "factorised-noise",
    "noise is added to mixed values, and all releases are post-processing of these; in all ticks "
    "together, mixed values of neighbouring inputs have a squared L2 distance of at most "
    "{squares:,} in grid steps of the noise, rounding included, and finite precision is part of "
    "delta",
)
ESTIMATES = Point(
    "shaped-noise",
    "noise is added to mixed values, and filtered estimates are post-processing of these; in all "
    "ticks together, mixed values of neighbouring inputs have a squared L2 distance of at most "
    "{squares:,} in grid steps of the noise, rounding included, and finite precision is part of "
    "delta",
)
_SENSITIVITY = Point(
    "sensitivity-of-totals",
    "neighbouring inputs differ in at most {counted:,} of {ticks:,} ticks, in each of them by at "
    "most {units:,} units a group: contributions are clamped, and there is at most one for each "
    "person and tick",
)
_AFTER_THE_HORIZON = Point(
    "after-the-horizon", "ticks after the first {horizon:,}: they are not released at all"
)
PROOF_OF_TOTALS = Point(
    "running-total",
    "continual release specification, sections 2 (Theorems 1 and 2), 3 (rounding) and 4 (Theorems "
    "3 and 4)",
)
PROOF_OF_ESTIMATES = Point(
    "shaped-real-time-release",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, sections 2 (Theorems 1 and 2), 3 (rounding) and 4 (Theorems 3 and 4)",
)


def total_guarantee(
    *,
    precision: Precision,
    horizon: int | None,
    cap: PersonalCap | None,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    accounting: Point = TOTALS,
    proof: Point = PROOF_OF_TOTALS,
    left_open: tuple[Point, ...] = (),
) -> Guarantee:
    """Return (epsilon, delta)-DP of everything, of a window, or of a period under a `cap`.

    `accounting` says what is made of mixed values, and `left_open` what that does not promise.
    Source: continual release specification, sections 2 to 4.
    """
    changes = precision.changes
    whole = cap is None and changes.counted == horizon
    window = None if whole else cap.ticks if cap is not None else changes.counted
    beyond_one = BEYOND_A_WINDOW if cap is None else BEYOND_A_PERIOD
    open_end = () if whole else (beyond_one, CORRELATION)
    after = () if horizon is None else (_AFTER_THE_HORIZON.of(horizon=horizon),)
    capped = () if cap is None else (CAPPED.of(at_most=cap.at_most, ticks=cap.ticks),)
    assumed: tuple[Point, ...] = (ONE_GROUP.of(units=changes.amount), CAP_CHOSEN_IN_PUBLIC)
    if cap is None:
        assumed = (
            _SENSITIVITY.of(counted=changes.counted, ticks=changes.ticks, units=changes.amount),
        )
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=precision.epsilon,
        delta=precision.delta,
        per="stream" if whole else "window" if cap is None else "period",
        window=window,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=cap is not None,
        neighbours=neighbours,
        adversary=OTHERS_KNOWN if whole else WINDOWS_INDEPENDENT,
        accounting=(accounting.of(squares=precision.squares), *capped),
        trust=EXACT_SUMS_SEEN,
        assumptions=(*assumed, KEYED_HASH),
        not_covered=(
            *after,
            *open_end,
            *beyond(neighbours),
            CLAMPED,
            SAME_PEOPLE,
            DEPENDENT_OTHERS,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            *left_open,
            SECRET,
        ),
        proof=proof,
        finite_precision_delta=0.0,
        loss=precision.loss,
    )
