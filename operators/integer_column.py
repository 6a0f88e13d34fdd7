"""Whole numbers in one array, as a sequence of Python's integers."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fugu.operators.column import Column
from fugu.operators.mechanism import Array, Integers


class IntegerColumn(Column[int]):
    """Present an array of whole numbers as a sequence, whose elements are Python's integers.

    >>> column = IntegerColumn(np.array([3, 5]))
    >>> type(column[1]), list(column), max(column)
    (<class 'int'>, [3, 5], 5)
    """

    __slots__ = ("array",)

    def __init__(self, array: Integers) -> None:
        self.array = array

    def taken(self, index: Integers | slice) -> "IntegerColumn":
        return IntegerColumn(self.array[index])

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        numbers: list[int] = self.array.tolist()
        return iter(numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def cell(self, place: int) -> int:
        return int(self.array[place])


def column_of(numbers: Sequence[int]) -> Integers:
    """Turn a sequence of integers into an array; one that is an array already is not copied.

    >>> column_of(range(3, 6)).tolist(), column_of([3, 5]).tolist()
    ([3, 4, 5], [3, 5])
    """
    if isinstance(numbers, IntegerColumn):
        return numbers.array
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.array(numbers, dtype=np.int64)
