"""Present arrays of several kinds as sequences of cells."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar, overload

import numpy as np

from fugu.operators.mechanism import Integers

Cell = TypeVar("Cell")


class Column(Sequence[Cell]):
    """Present arrays as a sequence, which equals every sequence with the same cells."""

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    @abstractmethod
    def taken(self, index: Integers | slice) -> Self:
        """Return the cells at these places, in this order, as a column of the same kind."""

    @abstractmethod
    def cell(self, place: int) -> Cell:
        """Return the cell at this place as Python's object."""

    @overload
    def __getitem__(self, index: int) -> Cell: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Cell | Self:
        return self.taken(index) if isinstance(index, slice) else self.cell(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)


def selected(cells: Sequence[Cell], places: Integers | Sequence[int]) -> Sequence[Cell]:
    """Return the cells at these places, as a column of the same kind or else as a list.

    >>> selected([5, 6, 7], [2, 0])
    [7, 5]
    """
    index = np.asarray(places, dtype=np.int64)
    if isinstance(cells, Column):
        return cells.taken(index)
    return [cells[place] for place in index.tolist()]
