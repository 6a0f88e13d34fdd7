"""Every record that is not exactly what was declared becomes a dead letter, with its reason."""

import pytest

from dataflows.batches import Reason
from dataflows.codec import LATEST_TIMESTAMP, FieldTimestamp
from tests.dataflows.columns import Message, batch_of, codec

GOOD: Message = (b"bob", b'{"zone": "light"}')
DEEP = b'{"zone": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
LARGE = b'{"zone": "rest", "padding": "' + b"x" * 5_000_000 + b'"}'

REFUSED: dict[str, tuple[Message, Reason, str]] = {
    "no key": ((None, b'{"zone": "rest"}'), Reason.NO_KEY, ""),
    "empty key": ((b"", b'{"zone": "rest"}'), Reason.NO_KEY, ""),
    "key too large": ((b"k" * 65_537, b'{"zone": "rest"}'), Reason.TOO_LARGE, ""),
    "tombstone": ((b"eve", None), Reason.TOMBSTONE, ""),
    "empty value": ((b"eve", b""), Reason.NOT_JSON, ""),
    "spaces": ((b"eve", b"  "), Reason.NOT_JSON, ""),
    "text": ((b"eve", b"rest"), Reason.NOT_JSON, ""),
    "two objects": ((b"eve", b'{"zone": "rest"}{}'), Reason.NOT_JSON, ""),
    "truncated object": ((b"eve", b'{"zone": "rest"'), Reason.NOT_JSON, ""),
    "truncated UTF-8": ((b"eve", '{"zone": "é'.encode()[:-1]), Reason.NOT_JSON, ""),
    "invalid UTF-8": ((b"eve", b'{"zone": "rest", "x": "\xff"}'), Reason.NOT_JSON, ""),
    "byte order mark": ((b"eve", b'\xef\xbb\xbf{"zone": "rest"}'), Reason.NOT_JSON, ""),
    "lone surrogate": ((b"eve", b'{"zone": "\\ud800"}'), Reason.NOT_JSON, ""),
    "10,000 deep": ((b"eve", DEEP), Reason.NOT_JSON, ""),
    "10,000 deep and open": ((b"eve", b"[" * 10_000), Reason.NOT_JSON, ""),
    "5 MB": ((b"eve", LARGE), Reason.TOO_LARGE, ""),
    "list": ((b"eve", b'["rest"]'), Reason.WRONG_TYPE, ""),
    "bare text": ((b"eve", b'"rest"'), Reason.WRONG_TYPE, ""),
    "bare null": ((b"eve", b"null"), Reason.WRONG_TYPE, ""),
    "field missing": ((b"eve", b'{"Zone": "rest"}'), Reason.FIELD_MISSING, "zone"),
    "field null": ((b"eve", b'{"zone": null}'), Reason.WRONG_TYPE, "zone"),
    "field true": ((b"eve", b'{"zone": true}'), Reason.WRONG_TYPE, "zone"),
    "field number": ((b"eve", b'{"zone": 1}'), Reason.WRONG_TYPE, "zone"),
    "field object": ((b"eve", b'{"zone": {"rest": 1}}'), Reason.WRONG_TYPE, "zone"),
    "NaN": ((b"eve", b'{"zone": NaN}'), Reason.NOT_FINITE, "zone"),
    "infinity": ((b"eve", b'{"zone": -Infinity}'), Reason.NOT_FINITE, "zone"),
    "1e999": ((b"eve", b'{"zone": 1e999}'), Reason.NOT_FINITE, "zone"),
    "NaN elsewhere": ((b"eve", b'{"zone": "rest", "x": NaN}'), Reason.NOT_JSON, ""),
    "unknown symbol": ((b"eve", b'{"zone": "sprint"}'), Reason.OUTSIDE_DOMAIN, "zone"),
    "other case": ((b"eve", b'{"zone": "Rest"}'), Reason.OUTSIDE_DOMAIN, "zone"),
    "empty symbol": ((b"eve", b'{"zone": ""}'), Reason.OUTSIDE_DOMAIN, "zone"),
}


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
