"""Columns equal every sequence with the same cells, so that a comparison does not depend on what a
batch is made of."""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.operators.byte_column import ByteColumn
from fugu.operators.integer_column import IntegerColumn

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
