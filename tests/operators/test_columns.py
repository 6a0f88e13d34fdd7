"""Columns equal every sequence with the same cells, so that a comparison does not depend on what a
batch is made of.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.operators.columns import ByteColumn, IntegerColumn

PAIRS: list[tuple[Sequence[object], list[object], list[object]]] = [
    (ByteColumn.of([b"a", b""]), [b"a", b""], [b"a", b"b"]),
    (OptionalByteColumn.of([b"a", None]), [b"a", None], [b"a", b""]),
    (IntegerColumn(np.array([3, 5])), [3, 5], [3, 5, 7]),
    (HeaderColumns(1, {"by": b"fugu"}), [[("by", b"fugu")]], [[("by", b"")]]),
]


@pytest.mark.parametrize(("column", "same", "other"), PAIRS)
def test_a_column_equals_the_list_of_its_cells(
    column: Sequence[object], same: list[object], other: list[object]
) -> None:
    assert column == same
    assert same == column
    assert column == column[:]
    assert column != other
    assert other != column
    assert column != object()


def test_batches_of_columns_and_of_lists_are_equal() -> None:
    arrays = Outgoing(
        0,
        ByteColumn.of([b"k"]),
        ByteColumn.of([b"{}"]),
        HeaderColumns(1, {"by": b"fugu"}),
        IntegerColumn(np.array([7])),
    )
    assert arrays == Outgoing(0, [b"k"], [b"{}"], [[("by", b"fugu")]], [7])
    assert arrays != Outgoing(0, [b"k"], [b"{}"], [[("by", b"fugu")]], [8])


# Columns of strings behave as lists of them.


STRINGS = [b"anna", b"", b"nan", b"an", b"anna", b"\x00", b""]


def column() -> ByteColumn:
    """Strings that lie in another order, and share bytes."""
    content = np.frombuffer(b"\x00annan", dtype=np.uint8)
    return ByteColumn(content, np.array([1, 6, 3, 1, 1, 0, 0]), np.array([4, 0, 3, 2, 4, 1, 0]))


def test_a_string_is_found_wherever_it_is() -> None:
    assert list(column()) == STRINGS
    for string in [*STRINGS, b"ann", b"bnna", b"annab", b"annan more"]:
        expected = [place for place, one in enumerate(STRINGS) if one == string]
        assert column().places_of(string).tolist() == expected


@pytest.mark.parametrize("length", [63, 64, 65, 130, 10_000])
def test_long_strings_that_differ_in_one_byte_are_told_apart(length: int) -> None:
    string = b"k" * length
    others = [
        string[:place] + b"x" + string[place + 1 :]
        for place in {0, 1, max(0, length - 65), length - 1}
    ]
    column = ByteColumn.of([*others, string, b"k" + string, string[1:], string, others[0]])
    assert column.places_of(string).tolist() == [len(others), len(others) + 3]


def test_a_column_that_follows_another_keeps_its_strings() -> None:
    others = column().taken(np.array([3, 2]))
    assert list(ByteColumn.chained([column(), others])) == [*STRINGS, b"an", b"nan"]
    assert list(ByteColumn.chained([ByteColumn.of([]), others])) == [b"an", b"nan"]
    assert list(ByteColumn.chained([others, ByteColumn.of([])])) == [b"an", b"nan"]


def test_strings_are_replaced_where_they_are_and_nowhere_else() -> None:
    replaced = column().replaced(np.array([1, 4]), column().taken(np.array([5, 2])))
    assert list(replaced) == [b"anna", b"\x00", b"nan", b"an", b"nan", b"\x00", b""]
    assert list(column()) == STRINGS


def test_chained_columns_keep_their_strings() -> None:
    columns = [column(), ByteColumn.of([]), column().taken(np.array([3, 2]))]
    assert list(ByteColumn.chained(columns)) == [*STRINGS, b"an", b"nan"]
    assert list(ByteColumn.chained([])) == []
