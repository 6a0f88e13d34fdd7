"""Compiled code reads Avro as fastavro does, or leaves it to that."""

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest
from fastavro import parse_schema, schemaless_writer

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.avro_types import Schema
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import RawAvro, Registered, SchemaText
from fugu.dataflows.records.schema_ids import prefix_of

ZONE = {"type": "enum", "name": "Zone", "symbols": ["rest", "light"]}
POINT = {
    "type": "record",
    "name": "Point",
    "fields": [
        {"name": "zone", "type": ["null", "Zone"]},
        {"name": "bpm", "type": "double"},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
        {"name": "note", "type": "string"},
    ],
}
FIELDS: list[dict[str, Any]] = [
    {"name": "first", "type": ZONE},
    {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 3}},
    {"name": "points", "type": {"type": "array", "items": POINT}},
    {"name": "raw", "type": ["bytes", "null", "boolean"]},
    {"name": "short", "type": "float"},
    {"name": "last", "type": ["null", "Point", "long"]},
    {"name": "at", "type": "long"},
]
SCHEMA: Schema = {"type": "record", "name": "Reading", "namespace": "v", "fields": FIELDS}
PARSED = parse_schema(SCHEMA)
COMPILED = ["first", "points[0].zone", "points[2].bpm", "points[1].note", "last.bpm", "last.zone"]
NOTES = ["", "light", "caf\u00e9 \U0001f421", 'a "quoted" text', "line\nbreak", "\x7f", "canary"]
NUMBERS = [0.0, -0.0, 71.5, -3.25, 0.1, 1e-5, 1e15, 123456789012345.0, 1 / 3, math.nan, -math.inf]


def point(random: Random) -> dict[str, Any]:
    number = random.choice([*NUMBERS, random.random(), random.randrange(10**6) / 1000])
    return {
        "zone": random.choice([None, "rest", "light"]),
        "bpm": number,
        "tags": {random.choice(NOTES): [1, -7] for _ in range(random.randrange(3))},
        "note": random.choice(NOTES),
    }


def reading(random: Random) -> bytes:
    value = {
        "first": random.choice(["rest", "light"]),
        "id": b"abc",
        "points": [point(random) for _ in range(random.randrange(4))],
        "raw": random.choice([b"\xff", None, True]),
        "short": random.choice([0.5, 71.1]),
        "last": random.choice([None, point(random), 2**62, -1]),
        "at": random.choice([0, 1_767_225_600_000, -(2**63), 2**63 - 1, 253_402_300_800_000]),
    }
    stream = io.BytesIO()
    schemaless_writer(stream, PARSED, value)
    return stream.getvalue()


def damaged(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randrange(1, 4)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)[: random.choice([999, random.randrange(60)])]


def codec_of(name: str) -> Codec:
    names = [name, "at"]
    payloads = Payloads([name], null="as_none")
    wire = RawAvro(AvroSchema.of(SCHEMA, names))
    return Codec(payloads, 1_000, FieldTimestamp("at", 1), exact=(name,), wire=wire)


def both(codec: Codec, contents: Sequence[bytes | None]) -> list[Decoded]:
    """The same records as columns and as lists."""
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    lists = Batch(0, range(count), [1] * count, keys, contents, [[]] * count)
    columns = OptionalByteColumn.of(keys), OptionalByteColumn.of(contents)
    as_columns = replace(lists, keys=columns[0], values=columns[1])
    return [codec.decode(as_columns), codec.decode(lists)]


def told(decoded: Decoded) -> list[object]:
    kept = [decoded.offsets, decoded.timestamps, decoded.keys, decoded.values.tolist()]
    return [*map(list, kept), decoded.dead, vars(decoded.refused)]


def look_at_projected_avro(count: int) -> None:
    """Whole and damaged records are decoded alike, whichever way they come."""
    random = Random(7)
    for round_ in range(max(1, count // 1_000)):
        name = COMPILED[round_ % len(COMPILED)]
        whole = [reading(random) for _ in range(500)]
        contents = [*whole, *(damaged(random, one) for one in whole)]
        columns, lists = both(codec_of(name), contents)
        assert told(columns) == told(lists), name


@pytest.mark.slow
def test_columns_of_avro_are_decoded_as_lists_are() -> None:
    look_at_projected_avro(3_000)


@pytest.mark.parametrize("name", COMPILED)
def test_most_records_are_read_by_compiled_code(name: str) -> None:
    random, codec = Random(1), codec_of(name)
    assert codec.wire is not None
    assert codec.scanner is not None
    contents = OptionalByteColumn.of([reading(random) for _ in range(300)])
    found = codec.wire.projected(contents)
    assert found.sure.any()
    for content, sure in zip(found.records, found.sure.tolist(), strict=True):
        if sure:
            orjson.loads(content or b"")


@pytest.mark.parametrize("name", ["short", "raw", "id", "points", "last.tags.a", "points[0].tags"])
def test_what_compiled_code_does_not_write_is_read_by_fastavro(name: str) -> None:
    assert AvroSchema.of(SCHEMA, [name]).program is None


def test_records_of_several_schemas_are_read_together() -> None:
    other = {"type": "record", "name": "O", "fields": [{"name": "at", "type": "long"}, *FIELDS[:1]]}
    texts = {3: SCHEMA, 4: other, 5: "string"}

    class Texts:
        url, away_since, away_because = "", None, ""

        def prepare(self) -> None:
            """Nothing."""

        def are_there(self, _: object) -> bool:
            return True

        def text_of(self, number: int) -> SchemaText | None:
            text = texts.get(number)
            return text and SchemaText("AVRO", orjson.dumps(text).decode())

        def newest(self, _: str) -> SchemaText | None:
            return None

    random, names = Random(5), ["first", "at"]
    wire = Registered("avro", Texts(), names)
    codec = Codec(Payloads(["first"], null="error"), 1_000, FieldTimestamp("at", 1), wire=wire)
    own = [prefix_of(3) + reading(random) for _ in range(20)]
    others = [prefix_of(4) + b"\x04\x02", prefix_of(5) + b"\0", prefix_of(6) + b"\0", b"\0", b"x"]
    contents = [*own, *others * 5, None, b""]
    columns, lists = both(codec, contents)
    assert told(columns) == told(lists)
    assert b'"light"' in columns.values.tolist()
    assert len(columns.dead.offsets) >= 22
    assert np.count_nonzero(wire.projected(OptionalByteColumn.of(contents)).sure) >= 10
