"""Whatever bytes arrive: nothing raises, and every record is either accepted or a dead letter."""

import json

import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fugu.dataflows.records.json_fields import FieldTimestamp
from tests.dataflows.stages.columns import ALPHABET, Message, batch_of, codec

READINGS = [
    codec(),
    codec(other="rest"),
    codec([0, 1, 2]),
    codec(timestamp=FieldTimestamp("at", 1000)),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(ALPHABET),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["zone", "at", "x"]), inner),
    max_leaves=8,
)
json_texts = json_values.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
cut_texts = st.tuples(json_texts, st.integers(0, 40)).map(lambda pair: pair[0][: pair[1]])
messages = st.tuples(
    st.none() | st.binary(max_size=4),
    st.none() | st.binary(max_size=60) | json_texts | cut_texts,
)


@settings(max_examples=300)
@given(st.lists(messages, max_size=5))
@example([(b"k", b'{"zone": 1' + b"0" * 5000 + b"}")])
@example([(b"k", b'{"zone": "rest", "at": -0}')])
def test_every_record_is_either_accepted_or_a_dead_letter(records: list[Message]) -> None:
    batch = batch_of(records, first_offset=7)
    for reading in READINGS:
        decoded = reading.decode(batch)
        assert sorted([*decoded.offsets, *decoded.dead.offsets]) == batch.offsets
        columns = (decoded.timestamps, decoded.keys, decoded.values)
        assert {len(column) for column in columns} == {len(decoded.offsets)}
        dead = (decoded.dead.timestamps, decoded.dead.reasons, decoded.dead.fields)
        assert {len(column) for column in dead} == {len(decoded.dead.offsets)}
        assert all(0 <= symbol < 3 for symbol in decoded.values)


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.sampled_from(ALPHABET))))
def test_every_correct_record_is_accepted(records: list[tuple[bytes, str]]) -> None:
    batch = batch_of([(key, orjson.dumps({"zone": zone})) for key, zone in records])
    decoded = codec().decode(batch)
    assert decoded.offsets == batch.offsets
    assert decoded.keys == batch.keys
    assert decoded.values.tolist() == [ALPHABET.index(zone) for _, zone in records]


@given(st.lists(messages, max_size=5), st.integers(0, 5))
def test_cutting_a_batch_in_two_changes_no_decision(records: list[Message], cut: int) -> None:
    reading = codec(other="light")
    whole = reading.decode(batch_of(records))
    first, second = (
        batch_of(records[:cut]),
        batch_of(records[cut:], first_offset=len(records[:cut])),
    )
    parts = [reading.decode(first), reading.decode(second)]
    assert [offset for part in parts for offset in part.offsets] == whole.offsets
    assert [reason for part in parts for reason in part.dead.reasons] == whole.dead.reasons
