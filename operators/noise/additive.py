"""Additive noise on a grid, and the delta of drawing it in finite precision."""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter, prod
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.columns import ByteColumn, bytes_of, encode_fields, table_of_fields
from fugu.operators.digests import digests_of
from fugu.operators.mechanism import Array, Draws, Floats, Integers, Words
from fugu.operators.noise.grid import Grid
from fugu.operators.whole_numbers import take_whole_numbers

COMFORTABLE = 100
"""With fewer grid steps (per coordinate) in the sensitivity, rounding may cost over 1 percent."""

_BEYOND = 100.0
"""Nats: e^100 makes more than 1 of every error in total variation."""
_ROUNDING = 1e-12

_LARGEST_SENSITIVITY = 2**63
"""Keeps what a draw is bound to within an integer of 64 bits, with sign."""


class BudgetBelowResolution(ValueError):
    """Refuse noise so large that the grid has no step left for the data."""

    def __init__(self, what_to_do: str) -> None:
        super().__init__(f"budget_below_resolution: {what_to_do}")


class AdditiveNoise(ABC):
    """Add integer noise to integers on a grid; what Laplace and Gaussian noise share.

    `sensitivity`, `lower` and `upper` count units. Noise is drawn for one position and bound to the
    exact index it is added to, so that an identical replay repeats it, and other data at the same
    position get independent noise.

    Source: noise specification, sections 2, 3 and 5.
    """

    sensitivity: int
    lower: int
    upper: int
    coordinates: int
    grid: Grid
    precision: ClassVar[int]
    words_per_draw: ClassVar[int]
    largest: ClassVar[int]

    @property
    @abstractmethod
    def index_sensitivity(self) -> int:
        """Return s, the most grid steps by which the indices of neighbours differ."""

    @abstractmethod
    def _sample(self, words: Words) -> Integers:
        """Return one draw for each `words_per_draw` words, which are the last axis."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        """Return noisy points of `grid` for values `(rows,)` or `(rows, coordinates)` in units."""
        index = self.grid.index(values)
        coordinates = prod(index.shape[1:])
        bindings = _digests(index.reshape(len(index), coordinates), self._bound_to)
        words = draws.words(purpose, bindings, coordinates=coordinates, count=self.words_per_draw)
        return index + self._sample(words).reshape(index.shape)

    def value(self, points: Integers, units_per_one: int = 1) -> Floats:
        """Return the numbers that noisy points stand for."""
        return self.grid.value(points, units_per_one)

    def _require_sensitivity(self) -> None:
        take_whole_numbers(self)
        if not 1 <= self.sensitivity < _LARGEST_SENSITIVITY:
            raise ValueError(
                f"sensitivity: must be from 1 to below 2^63 units, not {self.sensitivity}"
            )
        if self.coordinates < 1:
            raise ValueError(f"coordinates: must be at least 1, not {self.coordinates}")

    def _make_grid(self, steps: int, too_coarse: str) -> None:
        """Make the grid on which the sensitivity has so many steps, which must be at least 1."""
        if steps < 1:
            raise BudgetBelowResolution(too_coarse)
        grid = Grid(Fraction(self.sensitivity, steps), self.lower, self.upper, self.largest)
        object.__setattr__(self, "grid", grid)

    @cached_property
    def _bound_to(self) -> bytes:
        """Return what draws are bound to besides the index.

        Sensitivity, index sensitivity and coordinates together say how wide a step is.
        """
        own = self.sensitivity, self.index_sensitivity, self.coordinates, self.precision
        return encode_fields(*own)


def _digests(vectors: Integers, bound_to: bytes) -> ByteColumn:
    """Return the `binding_digest` of the integers of each vector and of `bound_to`."""
    fields = table_of_fields(vectors.ravel())
    rest = bytes_of(encode_fields(bound_to))
    own = vectors.shape[1] * fields.shape[1]
    table = np.empty((len(vectors), own + len(rest)), dtype=np.uint8)
    table[:, :own], table[:, own:] = fields.reshape(len(vectors), own), rest
    return digests_of(ByteColumn.of_table(table))


def finite_precision_delta(
    epsilon: float, total_variation: float, draws: int, largest: float | None = None
) -> float:
    """Return the delta that `draws` draws, each off by e = `total_variation`, add to a proof of
    `epsilon`, which they lose together; one draw loses `largest` at most, or all of it.

    A draw that loses x nats adds (1 + e^x) e (continual release specification, Theorem 4, with tau
    <= e^x e). e^x is convex, so that the sum is largest if few lose as much as they can:

        e (2 draws + (e^m - 1) epsilon / m),    m = min(epsilon, largest)

    Only draws whose index differs between neighbours count: the others have one law for both.
    """
    most = min(epsilon, epsilon if largest is None else largest, _BEYOND)
    convex = (exact_exp(most) - 1.0) / most * epsilon
    bound = (2.0 * draws + convex) * total_variation * (1.0 + _ROUNDING)
    return min(1.0, nextafter(bound, inf))
