"""Every record that is not exactly what was declared becomes a dead letter, with its reason."""

import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.json_fields import LATEST_TIMESTAMP, FieldTimestamp
from tests.dataflows.records.bad_records import GOOD, REFUSED
from tests.dataflows.stages.columns import batch_of, codec


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_record_is_refused_with_its_reason_and_neighbours_are_unharmed(case: str) -> None:
    message, reason, field = REFUSED[case]
    decoded = codec().decode(batch_of([GOOD, message, GOOD], first_offset=40))
    assert (decoded.dead.offsets, decoded.dead.timestamps) == ([41], [1041])
    assert (decoded.dead.reasons, decoded.dead.fields) == ([reason], [field])
    assert (decoded.offsets, decoded.timestamps) == ([40, 42], [1040, 1042])
    assert decoded.keys == [b"bob", b"bob"]
    assert decoded.values.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"zone": "1"}', Reason.WRONG_TYPE),
        (b'{"zone": true}', Reason.WRONG_TYPE),
        (b'{"zone": 1.0}', Reason.WRONG_TYPE),
        (b'{"zone": 18446744073709551616}', Reason.WRONG_TYPE),
        (b'{"zone": 3}', Reason.OUTSIDE_DOMAIN),
        (b'{"zone": 1e999}', Reason.NOT_FINITE),
    ],
)
def test_an_alphabet_of_integers_is_read_strictly(value: bytes, reason: Reason) -> None:
    decoded = codec([0, 1, 2]).decode(batch_of([(b"eve", value), (b"bob", b'{"zone": 2}')]))
    assert decoded.dead.reasons == [reason]
    assert decoded.values.tolist() == [2]


def test_other_takes_unknown_symbols_of_the_right_type_only() -> None:
    values = [b'{"zone": "sprint"}', b'{"zone": 7}', b'{"zone": null}', b"{}", b'{"zone": "rest"}']
    decoded = codec(other="vigorous").decode(batch_of([(b"eve", value) for value in values]))
    assert decoded.offsets == [0, 4]
    assert decoded.values.tolist() == [2, 0]
    assert decoded.dead.reasons == [Reason.WRONG_TYPE, Reason.WRONG_TYPE, Reason.FIELD_MISSING]


def test_unknown_fields_are_ignored_and_the_last_of_two_equal_ones_counts() -> None:
    values = [b'{"x": [1], "zone": "rest", "y": "secret"}', b'{"zone": 1, "zone": "vigorous"}']
    decoded = codec().decode(batch_of([(b"eve", value) for value in values]))
    assert decoded.values.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("at", "milliseconds_per_unit", "expected"),
    [
        (b"1700000000123", 1, 1_700_000_000_123),
        (b"1700000000", 1000, 1_700_000_000_000),
        (b"0", 1, 0),
        (str(LATEST_TIMESTAMP).encode(), 1, LATEST_TIMESTAMP),
    ],
)
def test_event_time_is_read_from_the_declared_field(
    at: bytes, milliseconds_per_unit: int, expected: int
) -> None:
    reading = codec(timestamp=FieldTimestamp("at", milliseconds_per_unit))
    decoded = reading.decode(batch_of([(b"eve", b'{"zone": "rest", "at": ' + at + b"}")]))
    assert decoded.timestamps == [expected]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b'{"zone": "rest"}', Reason.FIELD_MISSING),
        (b'{"zone": "rest", "at": "1700000000123"}', Reason.WRONG_TYPE),
        (b'{"zone": "rest", "at": 1700000000123.0}', Reason.WRONG_TYPE),
        (b'{"zone": "rest", "at": true}', Reason.WRONG_TYPE),
        (b'{"zone": "rest", "at": null}', Reason.WRONG_TYPE),
        (b'{"zone": "rest", "at": NaN}', Reason.NOT_FINITE),
        (b'{"zone": "rest", "at": -1}', Reason.OUTSIDE_DOMAIN),
        (b'{"zone": "rest", "at": 253402300800000}', Reason.OUTSIDE_DOMAIN),
    ],
)
def test_an_unusable_event_time_is_refused(record: bytes, reason: Reason) -> None:
    reading = codec(timestamp=FieldTimestamp("at", 1))
    decoded = reading.decode(batch_of([(b"eve", record)]))
    assert decoded.dead.reasons == [reason]
    assert decoded.dead.fields == ["at"]
    assert decoded.dead.timestamps == [1000], "a dead letter keeps Kafka's timestamp"
