"""Operations on named columns: arrays of one length, such as a state or the notes of releases."""

from collections.abc import Mapping, Sequence

import numpy as np

from fugu.operators.mechanism import Array

Columns = Mapping[str, Array]


def taken(columns: Columns, index: Array | slice) -> dict[str, Array]:
    """Return some rows of every column.

    >>> taken({"spent": np.array([3, 5, 8])}, np.array([2, 0]))
    {'spent': array([8, 3])}
    """
    return {name: column[index] for name, column in columns.items()}


def copied(columns: Columns) -> dict[str, Array]:
    """Return a copy of every column, which may be written to."""
    return {name: column.copy() for name, column in columns.items()}


def put(columns: Columns, index: Array | slice, part: Columns) -> None:
    """Write the columns of `part` into these rows, in place; other columns stay as they are."""
    for name, column in part.items():
        columns[name][index] = column


def chosen(which: Array, yes: Columns, no: Columns) -> dict[str, Array]:
    """Return the columns of `yes`, with the rows of `no` where `which` is false.

    >>> chosen(np.array([True, False]), {"held": np.array([1, 1])}, {"held": np.array([0, 0])})
    {'held': array([1, 0])}
    """
    return {name: where_rows(which, column, no[name]) for name, column in yes.items()}


def where_rows(which: Array, yes: Array, no: Array) -> Array:
    """Return `np.where` row by row, for arrays of any number of axes."""
    return np.where(which.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)


def joined(parts: Sequence[Columns]) -> dict[str, Array]:
    """Return the rows of all parts, one part after the other; all have the same columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def objects(cells: Sequence[bytes | None]) -> Array:
    """Return a column of objects, one for each cell."""
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column
