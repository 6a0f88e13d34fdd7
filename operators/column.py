"""What all columns have in common."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

Cell = TypeVar("Cell", covariant=True)


class Column(Sequence[Cell]):
    """Present arrays as a sequence, which equals every sequence with the same cells."""

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)
