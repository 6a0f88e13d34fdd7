"""Distances of a release from the truth, which a mechanism is to keep small, as data.

A distance chooses the kernel that proposes releases; it never touches privacy. Source: SIP
specification sections 1 and 3.1 to 3.3. Arithmetic is + - x and the square root, elementwise.

>>> Points(np.array([[0.0, 0.0], [3.0, 4.0]])).table(2).tolist()
[[0.0, 5.0], [5.0, 0.0]]
"""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers


@dataclass(frozen=True)
class Hamming:
    """Count 0 for the true symbol and 1 for every other one."""

    def table(self, symbols: int) -> Floats:
        """Return D(x, y), `(n, n)`."""
        return 1.0 - np.eye(symbols)

    def between(self, truths: Integers, released: Integers) -> Floats:
        """Return D(x, y) of pairs."""
        return np.asarray(truths != released, dtype=np.float64)

    def from_each(self, symbols: Integers, count: int) -> Floats:
        """Return how far each of `count` symbols is from each of these, `(count, rows)`."""
        return np.asarray(np.arange(count)[:, None] != symbols, dtype=np.float64)

    def identity(self) -> tuple[str | bytes, ...]:
        """Return the fields that tell it apart in a law digest."""
        return ("hamming",)


@dataclass(frozen=True)
class Ordered:
    """Count how many places apart two symbols are in the order of the alphabet, |x - y|."""

    def table(self, symbols: int) -> Floats:
        """Return D(x, y), `(n, n)`."""
        place = np.arange(symbols, dtype=np.float64)
        return np.abs(place[:, None] - place)

    def between(self, truths: Integers, released: Integers) -> Floats:
        """Return D(x, y) of pairs."""
        return np.asarray(np.abs(truths - released), dtype=np.float64)

    def from_each(self, symbols: Integers, count: int) -> Floats:
        """Return how far each of `count` symbols is from each of these, `(count, rows)`."""
        return np.asarray(np.abs(np.arange(count)[:, None] - symbols), dtype=np.float64)

    def identity(self) -> tuple[str | bytes, ...]:
        """Return the fields that tell it apart in a law digest."""
        return ("ordered",)


@dataclass(frozen=True, eq=False)
class Points:
    """Measure the Euclidean distance between `coordinates (n, axes)`, such as cells of a grid.

    Coordinates are copied. Raises `ValueError` where they are not finite numbers of one shape.
    """

    coordinates: Floats

    def __post_init__(self) -> None:
        coordinates = np.array(self.coordinates, dtype=np.float64)
        if coordinates.ndim != 2 or 0 in coordinates.shape:
            raise ValueError("distance: points need one list of coordinates for each symbol")
        if not (np.abs(coordinates) <= 1e100).all():
            raise ValueError("distance: every coordinate must be a number of at most 1e100")
        coordinates.setflags(write=False)
        object.__setattr__(self, "coordinates", coordinates)

    def table(self, symbols: int) -> Floats:
        """Return D(x, y), `(n, n)`."""
        return np.stack([self.to(point) for point in self.coordinates], axis=1)

    def between(self, truths: Integers, released: Integers) -> Floats:
        """Return D(x, y) of pairs."""
        gaps = self.coordinates[truths] - self.coordinates[released]
        return np.asarray(np.sqrt((gaps * gaps).sum(axis=1)))

    def to(self, point: Floats) -> Floats:
        """Return how far every symbol is from one point `(axes,)`, or from a point of its own."""
        square = np.zeros(len(self.coordinates))
        for axis, along in enumerate(self.coordinates.T):
            gap = along - point[..., axis]
            square = square + gap * gap
        return np.sqrt(square)

    def from_each(self, symbols: Integers, count: int) -> Floats:
        """Return how far each of the first `count` symbols is from each of these, `(count,
        rows)`."""
        square = np.zeros((count, len(symbols)))
        for along in self.coordinates[:count].T:
            gap = along[:, None] - along[symbols]
            square = square + gap * gap
        return np.sqrt(square)

    def identity(self) -> tuple[str | bytes, ...]:
        """Return the fields that tell it apart in a law digest."""
        shape = str(self.coordinates.shape)
        return ("points", shape, self.coordinates.astype("<f8").tobytes())


Distance = Hamming | Ordered | Points

HAMMING = Hamming()
