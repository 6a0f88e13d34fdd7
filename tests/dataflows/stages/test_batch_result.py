"""What belongs to a record stays with it, whatever is selected, joined or sorted."""

import numpy as np
import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.stages.batch_result import Advanced, Selection, in_input_order, sanitized
from fugu.operators.mechanism import Integers, Kind, Releases
from tests.dataflows.stages.columns import batch_of, codec

NAMES = [b"ann", b"bob", b"cyd", b"dan", b"eve"]
ROWS = np.array([40, 30, 20, 10, 0])


def batch() -> Selection:
    decoded = codec().decode(batch_of([(name, b'{"zone": "rest"}') for name in NAMES]))
    return Selection.whole(decoded, ROWS)


def advanced(selection: Selection, levels: list[int], kind: Kind = Kind.FRESH) -> Advanced:
    """Records whose release is their row."""
    kinds: Integers = np.full(len(selection), kind)
    return Advanced(selection, Releases(selection.rows, {}, kinds), np.array(levels))


def test_a_selection_of_a_selection_has_the_columns_of_its_records() -> None:
    some = batch().at(np.array([1, 2, 4])).at(np.array([2, 0]))
    assert list(some.records.keys) == [b"eve", b"bob"]
    assert some.rows.tolist() == [0, 30]
    assert some.others == {0: 1000, 2: 1002, 3: 1003}


def test_all_records_in_another_order_are_not_the_batch_as_it_was() -> None:
    turned = batch().at(np.arange(5)[::-1])
    assert list(turned.records.keys) == NAMES[::-1]


def test_rounds_come_together_in_input_order_with_releases_and_levels() -> None:
    first = advanced(batch().at(np.array([0, 4])), [1, 5])
    second = advanced(batch().at(np.array([2])), [3])
    made = sanitized(in_input_order([first, second]))
    assert list(made.keys) == [b"ann", b"cyd", b"eve"]
    assert made.releases.values.tolist() == [40, 20, 0]
    assert list(zip(made.spending.keys, made.spending.levels, strict=True)) == [
        (b"ann", 1),
        (b"cyd", 3),
        (b"eve", 5),
    ]
    assert made.dead.offsets == [1, 3]
    assert set(made.dead.reasons) == {Reason.DUPLICATE}


def test_whoever_spends_on_what_is_suppressed_is_named_all_the_same() -> None:
    made = sanitized(advanced(batch().at(np.array([1, 3])), [0, 7], Kind.SUPPRESSED))
    assert list(made.keys) == []
    assert list(made.spending.keys) == [b"dan"]


def test_a_column_of_another_selection_is_refused() -> None:
    with pytest.raises(ValueError, match="exactly one release and one level"):
        advanced(batch().at(np.array([0, 1])), [1, 2, 3])
