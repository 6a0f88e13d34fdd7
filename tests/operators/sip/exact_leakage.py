"""Compute what a law of whole words leaks at most, in rational numbers, for all exact beliefs.

The exact belief may be anywhere within Hilbert's distance d of the doubles: beta(x) s(x), divided
by its sum, with s between 1 and e^d. What is most or least likely to be released then has s = e^d
on the truths that release it most or least, so a few sums decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Words

DIGITS = 60
TOTAL = 2**64


@dataclass(frozen=True)
class ExactLaw:
    """W(y|x) as `words[x, y]`, at a belief `(n,)` and a distance from the exact one."""

    belief: Floats
    words: Words
    distance: float = 0.0

    @property
    def rows_are_complete(self) -> bool:
        """Return whether every row has 2^64 words: sums wrap to 0, and doubles say about 2^64."""
        sums = self.words.sum(axis=1, dtype=np.uint64)
        about = self.words.astype(np.float64).sum(axis=1)
        return bool((sums == 0).all() and (np.abs(about / TOTAL - 1.0) < 1e-6).all())

    @property
    def forgets_nothing(self) -> bool:
        """Return whether every truth can release what some truth can."""
        drawn = self.words > 0
        return bool((drawn.all(axis=0) == drawn.any(axis=0)).all())

    def excess(self, epsilon: float) -> Decimal:
        """The largest |ln W(y|x)/q(y)| less epsilon."""
        return _logarithm(self.leakage_ratio) - Decimal(epsilon)

    def unpaid(self, charge: int) -> Decimal:
        """The same less a charge in units."""
        return _logarithm(self.leakage_ratio) - Decimal(in_nats(charge))

    def local_excess(self, epsilon: float) -> Decimal:
        """The largest ln W(y|x)/W(y|z) less 2 epsilon."""
        worst = max(
            Fraction(int(column.max()), int(column.min()))
            for column in self.words.T
            if column.any()
        )
        return _logarithm(worst) - 2 * Decimal(epsilon)

    @property
    def leakage_ratio(self) -> Fraction:
        """The largest of W(y|x)/q(y) and q(y)/W(y|x), over all x, all y and all exact beliefs."""
        worst = Fraction(1)
        for column in self.words.T:
            if column.any():
                least, most = self._released(column)
                top, bottom = int(column.max()), int(column.min())
                if bottom == 0:
                    raise ValueError("a symbol is released for some truths only")
                worst = max(worst, Fraction(top) / least, most / bottom)
        return worst

    def _released(self, column: Words) -> tuple[Fraction, Fraction]:
        """The least and the largest q(y)."""
        values, group = np.unique(column, return_inverse=True)
        mass = [0] * len(values)
        for number, believed in zip(group.tolist(), self._believed, strict=True):
            mass[number] += believed
        levels = list(zip(values.tolist(), mass, strict=True))
        return min(self._means(levels)), max(self._means(levels[::-1]))

    def _means(self, levels: list[tuple[int, int]]) -> Iterator[Fraction]:
        """q(y) with the first so many levels raised by e^d."""
        raised = _exponential(self.distance)
        total = Fraction(sum(mass for _, mass in levels))
        hit = Fraction(sum(value * mass for value, mass in levels))
        yield hit / total
        for value, mass in levels[:-1]:
            total += (raised - 1) * mass
            hit += (raised - 1) * value * mass
            yield hit / total

    @property
    def _believed(self) -> list[int]:
        """The belief in whole numbers of its smallest bit."""
        exact = [Fraction(entry) for entry in self.belief.tolist()]
        unit = max(entry.denominator for entry in exact)
        return [int(entry * unit) for entry in exact]


def _exponential(distance: float) -> Fraction:
    """e^distance, rounded up."""
    if distance == 0.0:
        return Fraction(1)
    with localcontext() as context:
        context.prec, context.rounding = DIGITS, ROUND_CEILING
        return Fraction(Decimal(distance).exp().next_plus())


def _logarithm(ratio: Fraction) -> Decimal:
    """ln(ratio), rounded up."""
    with localcontext() as context:
        context.prec = DIGITS
        context.rounding = ROUND_CEILING
        above = Decimal(ratio.numerator) / Decimal(ratio.denominator)
        return above.ln().next_plus()
