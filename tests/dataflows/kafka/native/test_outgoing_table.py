"""Compare what a table says about records with them, however columns are made."""

import ctypes
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native.producing import HEADERS, OutgoingTable, tables_of
from fugu.operators.columns import ByteColumn, IntegerColumn, bytes_of

Record = tuple[bytes | None, bytes, list[Header], int]

CONTENTS = st.binary(max_size=9)
HEADER_LISTS = st.lists(st.tuples(st.sampled_from(["", "id", "größe", "\0"]), CONTENTS), max_size=3)
TIMESTAMPS = st.integers(-(2**63), 2**63 - 1)
RECORDS = st.lists(
    st.tuples(st.none() | CONTENTS, CONTENTS, HEADER_LISTS, TIMESTAMPS), min_size=1, max_size=9
)


def outgoing_of(records: Sequence[Record]) -> Outgoing:
    keys, values, headers, timestamps = map(list, zip(*records, strict=True))
    return Outgoing(0, keys, values, headers, timestamps)


def string_at(place: int, length: int) -> bytes | None:
    return ctypes.string_at(place, length) if place else None


def records_of(table: OutgoingTable) -> list[Record]:
    """Read what a table says, as librdkafka would."""
    names = [(string_at(*name) or b"").decode() for name in table.names.tolist()]
    records: list[Record] = []
    for value, value_length, key, key_length, timestamp, *headers in table.words.tolist():
        contents = [string_at(*pair) for pair in zip(headers[::2], headers[1::2], strict=True)]
        pairs = [(name, content or b"") for name, content in zip(names, contents, strict=True)]
        found = string_at(value, value_length)
        assert found is not None
        assert None not in contents
        records.append((string_at(key, key_length), found, pairs, timestamp))
    return records


def all_records(outgoing: Outgoing) -> list[Record]:
    return [record for table in tables_of(outgoing) for record in records_of(table)]


@given(RECORDS)
def test_lists_are_laid_out_as_they_are(records: list[Record]) -> None:
    assert all_records(outgoing_of(records)) == records


@given(
    st.lists(st.tuples(st.none() | CONTENTS, CONTENTS, CONTENTS, TIMESTAMPS), min_size=1),
    CONTENTS,
)
def test_columns_are_laid_out_as_lists_are(
    rows: list[tuple[bytes | None, bytes, bytes, int]], constant: bytes
) -> None:
    keys, values, ids, timestamps = map(list, zip(*rows, strict=True))
    contents: dict[str, ByteColumn | bytes] = {"id": ByteColumn.of(ids), "by": constant}
    columns = Outgoing(
        0,
        OptionalByteColumn.of(keys),
        ByteColumn.of(values),
        HeaderColumns(len(rows), contents),
        IntegerColumn(np.array(timestamps, dtype=np.int64)),
    )
    lists = replace(
        columns,
        keys=keys,
        values=values,
        headers=[[("id", own), ("by", constant)] for own in ids],
        timestamps=timestamps,
    )
    assert all_records(columns) == all_records(lists)
    backwards = np.arange(len(rows))[::-1]
    assert all_records(columns.at(backwards.tolist())) == all_records(columns)[::-1]


def test_records_with_the_same_names_are_in_one_table() -> None:
    names: list[list[Header]] = [[("a", b"1")], [("a", b"2")], [], [("b", b"3")], [("a", b"4")]]
    tables = list(tables_of(outgoing_of([(None, b"", headers, 1) for headers in names])))
    assert [len(table.words) for table in tables] == [2, 1, 1, 1]
    assert [table.words.shape[1] - HEADERS for table in tables] == [2, 0, 2, 2]


def test_content_with_gaps_is_laid_out_without_them() -> None:
    content = bytes_of(b"f-u-g-u-")[::2]
    values = ByteColumn(content, np.array([0, 2]), np.array([2, 2]))
    outgoing = replace(outgoing_of([(None, b"", [], 1)] * 2), values=values)
    assert [value for _, value, _, _ in all_records(outgoing)] == [b"fu", b"gu"]


@pytest.mark.parametrize(
    ("begin", "length"),
    [(0, 5), (4, 1), (5, 0), (-1, 1), (1, -2), (2**63 - 1, 1), (0, 2**63 - 1), (-(2**63), 0)],
)
def test_a_string_outside_of_its_column_is_refused(begin: int, length: int) -> None:
    outside = ByteColumn(bytes_of(b"fugu"), np.array([0, begin]), np.array([4, length]))
    good = outgoing_of([(b"", b"", [("id", b"")], 1)] * 2)
    for bad in (
        replace(good, values=outside),
        replace(good, keys=outside),
        replace(good, headers=HeaderColumns(2, {"id": outside})),
    ):
        with pytest.raises(ValueError, match="does not lie in its column"):
            list(tables_of(bad))


def test_a_value_that_is_none_is_refused() -> None:
    """It would be a tombstone, which nothing here writes."""
    values = ByteColumn(bytes_of(b"fugu"), np.array([0]), np.array([-1]))
    with pytest.raises(ValueError, match="does not lie in its column"):
        list(tables_of(replace(outgoing_of([(b"", b"", [], 1)]), values=values)))


def test_columns_of_headers_that_differ_in_length_are_refused() -> None:
    good = outgoing_of([(b"", b"", [], 1)] * 2)
    for contents in ([b"1"], [b"1", b"2", b"3"]):
        headers = HeaderColumns(2, {"id": ByteColumn.of(contents)})
        with pytest.raises(ValueError, match="does not lie in its column"):
            list(tables_of(replace(good, headers=headers)))
