"""Tables of the discrete Gaussian as the sampler has them, of any deviation and width, exactly."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import accumulate, pairwise

DIGITS = 60
ENOUGH = 40
"""Deviations beyond which nothing is left of p, at this many digits."""


@dataclass(frozen=True)
class Table:
    """C_k = min(2^bits - 1, round(2^bits P(|X| <= k))) for k = 0..10 sigma; draws from p~."""

    sigma: int
    bits: int

    @property
    def end(self) -> int:
        """No draw is farther from zero."""
        return 10 * self.sigma + 1

    @cached_property
    def ideal(self) -> dict[int, Decimal]:
        """p."""
        with localcontext() as context:
            context.prec = DIGITS
            far = range(-ENOUGH * self.sigma, ENOUGH * self.sigma + 1)
            weights = {x: (Decimal(-x * x) / (2 * self.sigma**2)).exp() for x in far}
            total = total_of(weights.values())
            return {x: weight / total for x, weight in weights.items()}

    @cached_property
    def drawn(self) -> dict[int, Decimal]:
        """p~."""
        with localcontext() as context:
            context.prec = DIGITS
            sides = [self.ideal[0], *(2 * self.ideal[k] for k in range(1, self.end))]
            entries = [
                min(2**self.bits - 1, int((part * 2**self.bits).to_integral_value()))
                for part in accumulate(sides)
            ]
            words = [entries[0]]
            words += [after - before for before, after in pairwise(entries)]
            words.append(2**self.bits - entries[-1])
            found = {0: Decimal(words[0]) / 2**self.bits}
            for k in range(1, self.end + 1):
                found[k] = found[-k] = Decimal(words[k]) / 2 ** (self.bits + 1)
            return found

    @cached_property
    def short(self) -> dict[int, Decimal]:
        """a(x): what of p is missing in p~, relatively; 1 beyond the end."""
        with localcontext() as context:
            context.prec = DIGITS
            return {
                x: max(Decimal(0), 1 - self.drawn.get(x, Decimal(0)) / likely)
                for x, likely in self.ideal.items()
            }

    @cached_property
    def distance(self) -> Decimal:
        """e, in total variation."""
        return self.tau(0)

    def tau(self, shift: int) -> Decimal:
        """The sum of p(x) a(x + shift)."""
        with localcontext() as context:
            context.prec = DIGITS
            one = Decimal(1)
            return total_of(p * self.short.get(x + shift, one) for x, p in self.ideal.items())


def total_of(numbers: Iterable[Decimal]) -> Decimal:
    """Their sum, with the digits of the context."""
    return sum(numbers, Decimal(0))
