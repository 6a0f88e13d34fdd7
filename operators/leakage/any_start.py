"""Bound what leaked values tell about later ones, for every law of the first value."""

from bisect import bisect_right
from dataclasses import dataclass
from math import exp, expm1, inf, isfinite, log, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_units import exact_exp
from fugu.operators.leakage.leakage_function import MOST_STEPS, ROUNDING, Matrix, transition_matrix
from fugu.operators.mechanism import Floats

LONGEST = 256
"""Powers of the matrix beyond this one are not looked at."""
_NEAR_ENOUGH = 1.05
"""After so many steps as make all ratios this small, nothing is left to gain."""
_SMALLEST = 1e-290
"""Doubles below lose digits."""
_ROUNDING_OF_A_STEP = 2.0**-50


@dataclass(frozen=True)
class AnyStart:
    """Bound what releases so far tell about the newest value, whatever the first value's law was.

    An adversary knows the matrix P, and believes anything about where a person began. What the
    releases up to tick t - m tell about the value of t passes through m steps of P. Let theta_m be
    the largest ratio (P^m_ij P^m_kl) / (P^m_kj P^m_il). A value about which alpha nats leaked then
    tells at most

        L_m(alpha) = 2 ln((1 + sqrt(theta_m e^alpha)) / (sqrt(theta_m) + sqrt(e^alpha)))

    about the value m ticks later, and the m releases since then add what they spend.
    `ratios` holds theta_m for each m of `steps`; 1 is always among them, and others only if finite.

    Claim. Every figure is an upper bound, and L_1 is attained by some law. Proof: let w_i be the
    probability of the releases up to t - m given value i there. Its logarithms are at most alpha
    apart. With a law pi of this value, values j and l of tick t give w the averages with weights
    pi_i P^m_ij and pi_i P^m_il. Their ratio is E[r w] / (E[r] E[w]) with r_i = P^m_ij / P^m_il and
    weights pi_i P^m_il. It is largest where two values have the largest and the smallest w and r,
    with weights 1 to sqrt(theta_m e^alpha). Ratios are rounded up by more than the error of the
    powers, and results as by `LeakageFunction`.

    >>> leaving = AnyStart.of([[0.99, 0.01], [0.7, 0.3]])
    >>> round(leaving(1.0), 6), round(leaving.supremum(0.24), 6)
    (0.726799, 0.88344)
    >>> AnyStart.of([[0.8, 0.2], [0.0, 1.0]]).supremum(0.1)
    inf

    Source: contraction in Hilbert's metric, Birkhoff 1957; the use for leakage is ours.
    """

    steps: tuple[int, ...]
    ratios: tuple[float, ...]

    @classmethod
    def of(cls, rows: Matrix) -> "AnyStart":
        """Take a forward matrix; `ValueError` names the row and column that cannot be."""
        first = _Power.of(transition_matrix(rows))
        found: dict[int, float] = {}
        half, power = first, first
        while power.steps <= LONGEST:
            found[power.steps] = power.largest_ratio
            if found[power.steps] <= _NEAR_ENOUGH:
                break
            if 2 <= power.steps < LONGEST:
                between = power.then(half)
                found[between.steps] = between.largest_ratio
            half, power = power, power.then(power)
        kept = sorted(steps for steps in found if steps == 1 or isfinite(found[steps]))
        return cls(tuple(kept), tuple(found[steps] for steps in kept))

    def __call__(self, alpha: float) -> float:
        """Return L_1(alpha), at most alpha."""
        return _through(self.ratios[0], alpha)

    def after(self, alpha: float, steps: int) -> float:
        """Return what is left of a leakage after so many steps of the chain."""
        left = min(steps, MOST_STEPS)
        while left > 0 and alpha > 0.0:
            place = bisect_right(self.steps, left) - 1
            alpha = _through(self.ratios[place], alpha)
            left -= self.steps[place]
        return alpha

    def supremum(self, epsilon: float) -> float:
        """Return a limit of the leakage if no tick spends more; infinite without one."""
        return min(self._limits(epsilon))

    def at_first(self, epsilon: float) -> float:
        """Return what the first tick may spend for the leakage to stay within `supremum`, where
        all later ones spend at most epsilon."""
        limits = self._limits(epsilon)
        least = min(limits)
        waits = self.steps[limits.index(least)] - 1
        return least if waits == 0 else nextafter(least - nextafter(waits * epsilon, inf), 0.0)

    def left_after_step(self, left: Floats) -> Floats:
        """Return e^-L_1(alpha), where `left` is e^-alpha; the same bytes on every machine."""
        if self.ratios[0] == inf:
            return left
        root, roots = sqrt(self.ratios[0]), np.sqrt(left)
        kept = (root * roots + 1.0) / (root + roots)
        return np.asarray(kept * kept)

    def least_left(self, epsilon: float) -> float:
        """Return e^-`supremum`, the same on every machine, without rounding it."""
        least = 0.0
        for steps, ratio in zip(self.steps, self.ratios, strict=True):
            if ratio < inf:
                kept = exact_exp(-steps * epsilon / 2.0)
                rest = sqrt(ratio) * (1.0 - kept)
                root = 2.0 * kept / (rest + sqrt(rest * rest + 4.0 * kept))
                least = max(least, root * root)
        return least

    @property
    def numbers(self) -> tuple[Floats, Floats]:
        """Return what identifies it."""
        return np.array(self.steps, dtype=float), np.array(self.ratios)

    @property
    def bounded_below(self) -> float:
        """Return below which epsilon there is a bound: infinite, or 0 where there is none."""
        return inf if isfinite(min(self.ratios)) else 0.0

    def _limits(self, epsilon: float) -> list[float]:
        """Return the fixed point of alpha = L_m(alpha) + m epsilon for every m."""
        limits = []
        for steps, ratio in zip(self.steps, self.ratios, strict=True):
            spent = nextafter(steps * epsilon, inf) if steps > 1 else epsilon
            kept = exp(-spent / 2.0)
            rest = -sqrt(ratio) * expm1(-spent / 2.0)
            root = (rest + sqrt(rest * rest + 4.0 * kept)) / 2.0
            told = 2.0 * log(root) + ROUNDING * (1.0 + spent)
            limits.append(spent if ratio == 1.0 else spent + told)
        return limits


def _through(ratio: float, alpha: float) -> float:
    if ratio in (1.0, inf):
        return 0.0 if ratio == 1.0 else alpha
    root, kept = sqrt(ratio), exp(-alpha / 2.0)
    told = 2.0 * log((root + kept) / (1.0 + root * kept))
    return min(alpha, told + ROUNDING * (1.0 + alpha))


@dataclass(frozen=True, eq=False)
class _Power:
    """A power of the matrix, and where it is above 0 even if doubles show 0."""

    steps: int
    rows: Floats
    ways: NDArray[np.bool_]

    @classmethod
    def of(cls, matrix: Floats) -> "_Power":
        return cls(1, matrix, matrix > 0.0)

    def then(self, other: "_Power") -> "_Power":
        """Return the product, with sums in the same order on every machine."""
        total = np.zeros_like(self.rows)
        for middle in range(len(total)):
            total += self.rows[:, middle, None] * other.rows[middle]
        ways = self.ways.astype(float) @ other.ways.astype(float) > 0.0
        return _Power(self.steps + other.steps, total, ways)

    @property
    def largest_ratio(self) -> float:
        """Return theta, rounded up, and 1 for equal rows; infinite where one row has zeros that
        another has not, or where doubles lose the digits."""
        reached = self.ways[0]
        if (self.ways != reached).any() or (self.rows[:, reached] < _SMALLEST).any():
            return inf
        columns, largest = self.rows[:, reached], 1.0
        for row in columns:
            with np.errstate(over="ignore"):
                ratios = row / columns
                largest = max(largest, float((ratios.max(axis=1) / ratios.min(axis=1)).max()))
        if self.steps == 1 and largest == 1.0:
            return 1.0
        return largest * (1.0 + self.steps * (len(self.rows) + 4) * _ROUNDING_OF_A_STEP)
