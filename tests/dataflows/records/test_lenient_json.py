"""Only what is read of a record decides whether it is read; of the rest the structure counts."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Batch, Decoded, Reason
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.codec import WORTH_SCANNING, Codec
from fugu.dataflows.records.json_fields import FieldTimestamp, Refused
from fugu.dataflows.records.lenient_json import lenient, trouble
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import Registered, SchemaText, prefix_of
from fugu.dataflows.records.symbols import Symbols
from fugu.operators.columns import IntegerColumn, column_of
from tests.dataflows.records.test_hostile_schemas import OneText
from tests.dataflows.stages.columns import batch_of

ZONES = Codec(Symbols("zone", ["rest", "light"]), 1_000_000)
NUMBERS = Codec(Numbers("x", units_per_one=10), 1_000_000)
NESTED = Codec(Symbols("data.zone", ["rest", "light"]), 1_000_000, key="data.user")
TIMED = replace(ZONES, timestamp=FieldTimestamp("at", 1))
UNREAD = [
    b'"\\ud800"',
    b'"\\uDC00\\ud800 x"',
    b'["a", {"\\udfff": {"b": "\\\\\\ud83d\\u0041"}}]',
    b"1e999",
    b"-1E+400",
    b"9" * 4_301,
    b'[1, {"a": [%b, "1e999"]}]' % (b"1" * 400),
    b"0.1e99999999999999999999",
]
"""Values of JSON (RFC 8259) that no program can hold."""
NO_JSON = [
    b"NaN",
    b"-Infinity",
    b"[1, Infinity]",
    b'"\\q"',
    b'"\\u12"',
    b'"\\ud800\x01"',
    b'"\\ud800\xff"',
    b'"\\ud800',
    b'"\\ud800" 1',
    b"01e999",
    b"1e999e5",
    b"1.e999",
    b"+1e999",
    b"1e999 2",
    b"[1e999,]",
    b"[1e999",
    b"1NaN",
    b'"a"NaN',
    b"NaNNaN",
]


def read(codec: Codec, value: bytes) -> Decoded:
    """What becomes of one record; alike in lists and in columns, and for each of ten."""
    count = WORTH_SCANNING
    batch = Batch(
        2, list(range(count)), [7] * count, [b"eve"] * count, [value] * count, [[]] * count
    )
    columns = replace(
        batch,
        offsets=IntegerColumn(column_of(batch.offsets)),
        timestamps=IntegerColumn(column_of(batch.timestamps)),
        keys=OptionalByteColumn.of(batch.keys),
        values=OptionalByteColumn.of(batch.values),
    )
    one, listed, scanned = (codec.decode(some) for some in (batch.at([0]), batch, columns))
    for many in (listed, scanned):
        assert list(many.keys) == list(one.keys) * count
        assert many.values.tolist() == one.values.tolist() * count
        assert list(many.timestamps) == list(one.timestamps) * count
        assert many.dead.reasons == one.dead.reasons * count
        assert many.dead.fields == one.dead.fields * count
        assert list(many.refused.keys) == list(one.refused.keys) * count
        assert list(many.refused.timestamps) == list(one.refused.timestamps) * count
    return one


def test_a_number_is_no_name() -> None:
    for number in (b"1e999", b"9" * 400, b"NaN"):
        assert refusal(ZONES, b'{"zone": "light", %b: 1}' % number) == (Reason.NOT_JSON, "")


def refusal(codec: Codec, value: bytes) -> tuple[Reason, str]:
    """Why a record is refused."""
    dead = read(codec, value).dead
    return dead.reasons[0], dead.fields[0]


@pytest.mark.parametrize("value", UNREAD)
def test_a_field_that_is_not_read_may_hold_what_no_program_can(value: bytes) -> None:
    for record in (b'{"y": %b, "zone": "light"}', b'{"zone": "light", "y": %b, "z": %b}'):
        content = record.replace(b"%b", value)
        assert read(ZONES, content).values.tolist() == [1], content
    decoded = read(NESTED, b'{"y":%b,"data":{"zone":"rest","more":%b,"user":7}}' % (value, value))
    assert (decoded.values.tolist(), list(decoded.keys)) == ([0], [b"7"])


@pytest.mark.parametrize("value", NO_JSON)
def test_the_structure_of_all_fields_is_checked(value: bytes) -> None:
    for record in (b'{"zone": "light", "y": %b}', b'{"y": %b, "zone": "light"}'):
        content = record % value
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(content)
        assert refusal(ZONES, content) == (Reason.NOT_JSON, "")


@pytest.mark.parametrize(
    "number", [b"1e999", b"-1e999", b"9" * 400, b"-" + b"1" * 5_000, b"1" * 400 + b".5", b"NaN"]
)
def test_a_number_beyond_all_doubles_is_not_finite_however_it_is_written(number: bytes) -> None:
    assert refusal(NUMBERS, b'{"x": %b}' % number) == (Reason.NOT_FINITE, "x")
    assert refusal(NUMBERS, b'{"x": %b, "y": "\\ud800"}' % number) == (Reason.NOT_FINITE, "x")
    assert refusal(ZONES, b'{"zone": ["rest", {"a": %b}]}' % number) == (Reason.NOT_FINITE, "zone")
    assert refusal(TIMED, b'{"zone": "rest", "at": %b}' % number) == (Reason.NOT_FINITE, "at")


@pytest.mark.parametrize("number", ["1e999", "-" + "9" * 400, "9" * 5_000])
def test_so_it_is_where_it_is_written_as_text(number: str) -> None:
    codec = replace(NUMBERS, numbers=("x",))
    assert refusal(codec, orjson.dumps({"x": number})) == (Reason.NOT_FINITE, "x")
    integers = Codec(Symbols("x", [0, 1]), 10_000, numbers=("x",))
    assert refusal(integers, orjson.dumps({"x": number})) == (Reason.NOT_FINITE, "x")


@pytest.mark.parametrize("half", [b'"\\ud800"', b'"a\\udc00b"', b'"\\ud83d\\ud83d"'])
def test_half_a_surrogate_pair_is_no_text_where_it_is_read(half: bytes) -> None:
    assert refusal(ZONES, b'{"zone": %b}' % half) == (Reason.WRONG_TYPE, "zone")
    other = Codec(Symbols("zone", ["rest", "light"], other="rest"), 1_000)
    assert refusal(other, b'{"zone": %b}' % half) == (Reason.WRONG_TYPE, "zone")
    payloads = Codec(Payloads(["zone"], null="error"), 1_000, exact=("zone",))
    assert refusal(payloads, b'{"zone": {"a": [%b]}}' % half) == (Reason.WRONG_TYPE, "zone")
    assert refusal(payloads, b'{"zone": {%b: 1}}' % half) == (Reason.WRONG_TYPE, "zone")
    events = replace(ZONES, event="id")
    assert refusal(events, b'{"zone": "rest", "id": %b}' % half) == (Reason.WRONG_TYPE, "id")


@pytest.mark.parametrize("word", ["number", "no JSON", "half"])
@pytest.mark.parametrize("odd", [b'"\\ud800"', b"1e999"])
def test_no_text_in_a_record_passes_for_what_no_program_can_hold(word: str, odd: bytes) -> None:
    """Compiled code reads such a record, so that batches would show if others refused it."""
    text = f"\ufdd0fugu: {word}\ufdd1"
    other = Codec(Symbols("zone", ["rest", "light"], other="light"), 1_000, key="user")
    content = b'{"zone": "%b", "x": %b, "user": "%b"}' % (text.encode(), odd, text.encode())
    decoded = read(other, content)
    assert (decoded.values.tolist(), list(decoded.keys)) == ([1], [text.encode()])


def test_a_pair_of_surrogates_is_a_character() -> None:
    codec = Codec(Symbols("zone", ["\U0001f421", "light"]), 1_000)
    content = b'{"zone": "\\ud83d\\udc21", "y": "\\\\ud800", "z": "\\ud800"}'
    assert read(codec, content).values.tolist() == [0]


def test_half_a_surrogate_pair_in_the_field_of_the_user_names_nobody() -> None:
    assert refusal(NESTED, b'{"data": {"zone": "rest", "user": "\\ud800"}}') == (
        Reason.WRONG_TYPE,
        "data.user",
    )


def test_a_refused_record_has_its_user_and_its_time_all_the_same() -> None:
    codec = replace(TIMED, key="user")
    for value in (b'"\\ud800"', b"1e999", b"NaN", b"[NaN]"):
        refused = read(codec, b'{"zone": %b, "at": 5, "user": "ann"}' % value).refused
        assert (list(refused.keys), list(refused.timestamps)) == ([b"ann"], [5])
        nobody = read(codec, b'{"zone": "rest", "at": 5, "user": %b}' % value).refused
        assert not nobody.offsets
        timeless = read(codec, b'{"zone": "rest", "at": %b, "user": "ann"}' % value).refused
        assert not timeless.offsets


def test_what_is_nested_deeply_beside_a_payload_is_not_looked_into() -> None:
    codec = Codec(Payloads(["x"], null="error"), 10_000, exact=("x",))
    deep = b"[" * 1_000 + b"1e999, 0.10000000000000000001" + b"]" * 1_000
    assert read(codec, b'{"x": 1e1, "y": %b}' % deep).values.tolist() == [b"10.0"]
    assert refusal(codec, b'{"x": 0.10000000000000000001}') == (Reason.OUTSIDE_DOMAIN, "x")


@pytest.mark.parametrize("odd", [b'"', b'"\\', b'\\"', b'"\\u', b"1e", b"{", b'"\\ud800'])
def test_no_text_takes_long_to_refuse(odd: bytes) -> None:
    """A million bytes are looked at once, not once more for each of them."""
    content = odd * (1_000_000 // len(odd))
    assert ZONES.decode(batch_of([(b"eve", content)])).dead.reasons == [Reason.NOT_JSON]


SCHEMA = prefix_of(7)


def with_schema(codec: Codec) -> Codec:
    """Read the same of records that begin with the id of a JSON Schema."""
    wire = Registered("json_schema", OneText(SchemaText("JSON", "{}")), codec.names)
    return replace(codec, wire=wire)


@pytest.mark.parametrize("unread", UNREAD)
def test_json_with_a_schema_is_read_as_leniently(unread: bytes) -> None:
    zones = with_schema(replace(TIMED, key="user"))
    content = SCHEMA + b'{"note": %b, "zone": "light", "at": 5, "user": "ann"}' % unread
    found = read(zones, content)
    assert (found.values.tolist(), list(found.timestamps), list(found.keys)) == ([1], [5], [b"ann"])
    payload = with_schema(Codec(Payloads(["x"], null="error"), 10_000, exact=("x",)))
    content = SCHEMA + b'{"x": {"b": [1, "a"]}, "y": %b}' % unread
    assert read(payload, content).values.tolist() == [b'{"b":[1,"a"]}']
    reason, field = refusal(payload, SCHEMA + b'{"x": [%b]}' % unread)
    assert (reason in (Reason.NOT_FINITE, Reason.WRONG_TYPE), field) == (True, "x")
    with pytest.raises(Refused):
        payload.opened(SCHEMA + b'{"x": [%b]}' % unread)


def test_what_json_with_a_schema_cannot_hold_is_refused_where_it_is_read() -> None:
    zones = with_schema(replace(TIMED, key="user"))
    for value, reason in ((b'"\\ud800"', Reason.WRONG_TYPE), (b"1e999", Reason.NOT_FINITE)):
        content = SCHEMA + b'{"zone": %b, "at": 5, "user": "ann"}' % value
        assert refusal(zones, content) == (reason, "zone")
        refused = read(zones, content).refused
        assert (list(refused.keys), list(refused.timestamps)) == ([b"ann"], [5])
        content = SCHEMA + b'{"zone": "rest", "at": 5, "user": %b}' % value
        assert refusal(zones, content) == (reason, "user")


def test_a_number_of_json_with_a_schema_is_no_payload_that_reading_would_round() -> None:
    codec = with_schema(Codec(Payloads(["x"], null="error"), 10_000, exact=("x",)))
    long = b"0.10000000000000000001"
    assert refusal(codec, SCHEMA + b'{"x": [%b]}' % long) == (Reason.OUTSIDE_DOMAIN, "x")
    found = read(codec, SCHEMA + b'{"x": 0.1, "y": %b}' % long)
    assert found.values.tolist() == [b"0.1"]


@pytest.mark.parametrize("wrong", NO_JSON)
def test_what_is_no_json_is_not_as_its_schema_says(wrong: bytes) -> None:
    content = SCHEMA + b'{"note": %b, "zone": "light"}' % wrong
    assert refusal(with_schema(ZONES), content) == (Reason.NOT_AS_SCHEMA, "schema 7")


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=12,
    )
)
def test_what_orjson_reads_is_read_alike_and_has_no_trouble(value: object) -> None:
    try:
        content = orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):
        return
    found = lenient(content)
    assert (found.parsed, found.is_json) == (orjson.loads(content), True)
    assert trouble(found.parsed) is None
