"""Compute how much of what one tick has leaked is known about the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, isfinite, log, nextafter
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Floats

SUM_TOLERANCE = 1e-9

Matrix = Sequence[Sequence[float]] | Floats


def transition_matrix(rows: Matrix, name: str = "matrix") -> Floats:
    """Check a square matrix whose rows are distributions; `ValueError` names row and column.

    A forward matrix has P(next = j | now = i) in row i and column j, a backward one
    P(previous = j | now = i).
    """
    size = len(rows)
    if size == 0:
        raise ValueError(f"{name}: needs at least one row")
    for number, row in enumerate(rows):
        if len(row) != size:
            raise ValueError(
                f"{name} row {number}: has {len(row)} columns, but there are {size} rows; "
                "write a square matrix, one row and one column for each value"
            )
    return distributions(rows, name)


def distributions(rows: Matrix, name: str = "matrix") -> Floats:
    """Make rows that sum to 1 within 1e-9 sum to 1; `ValueError` names the row and column."""
    checked = [_distribution(f"{name} row {number}", row) for number, row in enumerate(rows)]
    matrix = np.array(checked)
    matrix.setflags(write=False)
    return matrix


def _distribution(name: str, row: Sequence[float] | Floats) -> Floats:
    values = [float(value) for value in row]
    for column, value in enumerate(values):
        if not isfinite(value):
            raise ValueError(f"{name}, column {column}: must be a finite number")
        if value < 0.0:
            raise ValueError(f"{name}, column {column}: a probability must not be negative")
    total = fsum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{name}: must sum to 1 within {SUM_TOLERANCE:g}, not to {total:.12g}")
    return np.array(values) / total


ROUNDING = 2.0**-48
"""Nats that a result is rounded up by, for each nat and one: far above the error of doubles."""
MOST_STEPS = 1_000
"""More steps of a chain are not followed one by one."""
_ROUNDING_OF_A_SUM = 2.0**-52
"""Relative, for each of its terms, and for the arithmetic that follows."""
_TINY = 1e-300
"""Smaller sums are rounded to this, or to 0: doubles lose their digits there."""


@dataclass(frozen=True, eq=False)
class LeakageFunction:
    """Bound what is known about one tick by what has leaked about its neighbour: L_P(alpha).

    An adversary who knows that values follow each other by the rows of P, and has learned alpha
    nats about one value, has learned at most L_P(alpha) about its neighbour: the maximum, over two
    rows q and d and sets S of columns, of ln[(q_S (e^alpha - 1) + 1) / (d_S (e^alpha - 1) + 1)],
    where q_S is the sum of q over S. The best S takes columns in the order of q_j / d_j, so that
    the first so many of them are the only candidates; and of all candidates (q_S, d_S) only those
    matter for which no other has more of q and less of d. They are computed once: `more` and
    `less`, both ascending.

    Claim. What is returned is never below the exact value of the given matrix: q_S is rounded up
    and d_S down by more than the rounding of their sums, and results by 2^-48 (1 + alpha) nats.

    >>> sticky = LeakageFunction.of([[0.9, 0.1], [0.1, 0.9]])
    >>> round(sticky(1.0), 6), round(sticky.supremum(1.0), 6)
    (0.776137, 2.749727)
    >>> absorbing = LeakageFunction.of([[0.8, 0.2], [0.0, 1.0]])
    >>> round(absorbing.bounded_below, 6), absorbing.supremum(1.0)
    (0.223144, inf)

    Source: budget allocation specification, section 5; Cao et al. 2017 and 2019.
    """

    more: Floats
    less: Floats

    steps: ClassVar[tuple[int, ...]] = (1,)
    """Name over how many ticks a leakage is followed at once: one by one."""

    @classmethod
    def of(cls, rows: Matrix) -> "LeakageFunction":
        """Take rows that are distributions; `ValueError` names the row and column otherwise."""
        matrix = distributions(rows)
        more = less = np.empty(0)
        for row in matrix:
            found = _prefixes(row, matrix)
            more, less = _undominated(*map(np.concatenate, zip((more, less), found, strict=True)))
        room = (matrix.shape[1] + 8) * _ROUNDING_OF_A_SUM
        less = less * (1.0 - room)
        return cls(np.clip(more * (1.0 + room), _TINY, 1.0), np.where(less < _TINY, 0.0, less))

    def __call__(self, alpha: float) -> float:
        """Return L(alpha), at most alpha."""
        if len(self.more) == 0:
            return 0.0
        vanishing = exp(-alpha)
        gained = np.log(self.more + (1.0 - self.more) * vanishing)
        possible = self.less > 0.0
        lost = np.full(len(gained), -float(alpha))
        lost[possible] = np.log(self.less[possible] + (1.0 - self.less[possible]) * vanishing)
        return min(alpha, float((gained - lost).max()) + ROUNDING * (1.0 + alpha))

    def after(self, alpha: float, steps: int) -> float:
        """Return what is left of a leakage after so many steps of the chain."""
        for _ in range(min(steps, MOST_STEPS)):
            if alpha == 0.0:
                break
            alpha = self(alpha)
        return alpha

    def supremum(self, epsilon: float) -> float:
        """Return the limit of alpha_t = L(alpha_{t-1}) + epsilon; infinite without a bound.

        It is the largest fixed point of a single candidate, x = e^alpha, in units of e^epsilon.
        """
        vanishing = exp(-epsilon)
        slope = self.more - (1.0 - self.less) * vanishing
        rest = (1.0 - self.more) * vanishing
        root = np.sqrt(slope * slope + 4.0 * self.less * rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            rising = (slope + root) / (2.0 * self.less)
            falling = 2.0 * rest / (root - slope)
        fixed = np.where(slope < 0.0, falling, np.where(self.less > 0.0, rising, inf))
        largest = float(fixed.max(initial=1.0))
        return epsilon if largest == 1.0 else epsilon + log(largest) + ROUNDING * (1.0 + epsilon)

    def at_first(self, epsilon: float) -> float:
        """Return what the first tick may spend for the leakage to stay within `supremum`, where
        all later ones spend at most epsilon."""
        return self.supremum(epsilon)

    def left_after_step(self, left: Floats) -> Floats:
        """Return e^-L(alpha), where `left` is e^-alpha; the same bytes on every machine."""
        more, less = self.more[:, None], self.less[:, None]
        kept = (less + (1.0 - less) * left) / (more + (1.0 - more) * left)
        return np.asarray(np.maximum(left, kept.min(axis=0, initial=1.0)))

    def least_left(self, epsilon: float) -> float:
        """Return 0: followed step by step a leakage never exceeds its supremum."""
        return 0.0

    @property
    def numbers(self) -> tuple[Floats, Floats]:
        """Return what identifies it."""
        return self.more, self.less

    @property
    def certain(self) -> float:
        """Return q0: the largest mass that one row has where another has none."""
        return float(self.more[self.less == 0.0].max(initial=0.0))

    @property
    def bounded_below(self) -> float:
        """Return below which epsilon there is a bound: infinite, or -ln q0."""
        return max(0.0, nextafter(-log(self.certain), 0.0)) if self.certain > 0.0 else inf


def _prefixes(row: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return all sums of `row` and of one of `others` over first columns in the best order."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratios = np.where(row > others, row / others, 0.0)
    order = np.argsort(-ratios, axis=1, kind="stable")
    useful = np.take_along_axis(ratios, order, axis=1) > 0.0
    more = np.where(useful, row[order], 0.0).cumsum(axis=1)
    less = np.where(useful, np.take_along_axis(others, order, axis=1), 0.0).cumsum(axis=1)
    return more[useful], less[useful]


def _undominated(more: Floats, less: Floats) -> tuple[Floats, Floats]:
    """Keep those for which no other has more of the one and not more of the other."""
    order = np.lexsort((-more, less))
    more, less = more[order], less[order]
    before = np.concatenate([[0.0], np.maximum.accumulate(more)[:-1]])[: len(more)]
    return more[more > before], less[more > before]
