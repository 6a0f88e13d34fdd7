"""Say how series move, in public: a mean, a deviation and a correlation for a filter to know."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, sqrt

from fugu.operators.wevent.limits import LARGEST_VALUE

LARGEST_CORRELATION = 0.9999
SMALLEST_DEVIATION = 2.0**-20
_FEWEST = 3


@dataclass(frozen=True)
class DeclaredModel:
    """Declare that series go back to their `mean` with a `correlation` from tick to tick, AR(1).

    `means` and `deviations` are of each series, in units. All of it must be public: known before,
    or estimated from what is public or was released. Whatever it says, no promise depends on it.

    >>> known = DeclaredModel.of_history([[10.0, 12.0, 15.0, 13.0, 11.0, 9.0, 10.0]])
    >>> [round(one, 3) for one in (*known.means, *known.deviations, known.correlation)]
    [11.429, 2.07, 0.558]

    Source: real-time release specification, sections 3 (history) and 6.
    """

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    correlation: float

    def __post_init__(self) -> None:
        if not self.means or len(self.means) != len(self.deviations):
            raise ValueError("means, deviations: give one of each for every series")
        if not all(abs(one) <= LARGEST_VALUE for one in self.means):
            raise ValueError("mean: must be from -2^44 to 2^44 units, as figures are")
        if not all(SMALLEST_DEVIATION <= one <= LARGEST_VALUE for one in self.deviations):
            raise ValueError(
                "deviation: must be from 2^-20 to 2^44 units: it says how far figures usually are "
                "from their mean"
            )
        if not 0.0 <= self.correlation <= LARGEST_CORRELATION:
            raise ValueError(
                f"correlation: must be from 0 to {LARGEST_CORRELATION}, not {self.correlation}"
            )

    @classmethod
    def of_history(cls, series: Sequence[Sequence[float]]) -> "DeclaredModel":
        """Estimate from public values of each series: its mean, its deviation, and of all together
        the correlation of neighbours, with the correction of 1 / n for short series.

        Raise `ValueError` for series that are too short or do not move. Sums are rounded once, so
        that every machine finds the same.
        """
        require_history(series, len(series))
        means, deviations, products, squares = [], [], [], []
        for values in series:
            number = len(values)
            mean = fsum(values) / number
            apart = [value - mean for value in values]
            square = fsum(one * one for one in apart)
            if square <= 0.0:
                raise ValueError("history: a series never moves; declare deviation instead")
            means.append(mean)
            deviations.append(sqrt(square / (number - 1)))
            following = fsum(a * b for a, b in pairwise(apart))
            products.append(following / square + 1.0 / number)
            squares.append(number)
        together = fsum(n * r for n, r in zip(squares, products, strict=True)) / sum(squares)
        correlation = min(max(together, 0.0), LARGEST_CORRELATION)
        return cls(tuple(means), tuple(deviations), correlation)


def require_history(series: Sequence[Sequence[float]], number: int) -> None:
    """Raise `ValueError` unless there are equally many public numbers of so many series."""
    if len(series) != number or len(set(map(len, series))) > 1:
        raise ValueError(f"history: give equally many numbers of each of the {number} series")
    if len(series[0]) < _FEWEST:
        raise ValueError(f"history: give at least {_FEWEST} numbers of every series")
    if not all(abs(one) <= LARGEST_VALUE for values in series for one in values):
        raise ValueError("history: numbers must be from -2^44 to 2^44 units, as figures are")
