"""The law of the privacy loss of randomized responses of one bit, which pure losses stand for.

A loss of e has a plus with probability 1 / (1 + exp(-e)), and else a minus. Two losses may be taken
for one of their sum, and any for a larger one: so many are made few.

>>> {loss: round(likely, 4) for loss, likely in signed_sums(Counter({UNITS_PER_NAT: 2})).items()}
{2199023255552: 0.5344, 0: 0.3932, -2199023255552: 0.0723}

Source: continual release specification, section 4.
"""

from collections import Counter
from collections.abc import Iterator
from math import exp, lgamma, log1p

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats

_MOST_SUMS = 4096
"""Bound the work: beyond it losses are rounded up until many sums of them are equal."""
_MOST_EQUAL = 1024
_FINE_GRID = UNITS_PER_NAT >> 20


def signed_sums(losses: Counter[int]) -> dict[int, float]:
    """Return how likely each sum of losses is, all in units; `losses` holds their numbers."""
    few = _fewer(losses, _MOST_EQUAL)
    law, grid = _law_of_sums(few), _FINE_GRID
    while law is None:
        coarse: Counter[int] = Counter()
        for loss, number in few.items():
            coarse[-(-loss // grid) * grid] += number
        law, grid = _law_of_sums(_fewer(coarse, _MOST_SUMS - 1)), 2 * grid
    return law


def _fewer(losses: Counter[int], most: int) -> Counter[int]:
    """Return at most so many of every loss: two at a time are taken for one of their sum."""
    fewer: Counter[int] = Counter()
    for loss, number in losses.items():
        doubled, rest = loss, number
        while rest > most:
            doubled, rest = 2 * doubled, (rest + 1) // 2
        fewer[doubled] += rest
    return fewer


def _law_of_sums(losses: Counter[int]) -> dict[int, float] | None:
    """Return the law; None where it has too many sums."""
    law = {0: 1.0}
    for loss, number in losses.items():
        signs = list(_signs(loss, number))
        grown: dict[int, float] = {}
        for signed, likely in law.items():
            for added, chance in signs:
                grown[signed + added] = grown.get(signed + added, 0.0) + likely * chance
            if len(grown) > _MOST_SUMS:
                return None
        law = grown
    return law


def _signs(loss: int, number: int) -> Iterator[tuple[int, float]]:
    """Yield all sums of so many equal losses with signs, and how likely they are."""
    nats = in_nats(loss)
    plus = -log1p(exp(-nats))
    minus = plus - nats
    for minuses in range(number + 1):
        pluses = number - minuses
        ways = lgamma(number + 1) - lgamma(pluses + 1) - lgamma(minuses + 1)
        yield (pluses - minuses) * loss, exp(ways + pluses * plus + minuses * minus)
