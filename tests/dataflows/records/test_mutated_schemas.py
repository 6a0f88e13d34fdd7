"""Schemas and messages with faults, from a registry: each record is read, or a dead letter."""

import json
import logging
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.files.proto_compiler import MAIN, descriptors_of
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.registered import Registered, SchemaKind, prefix_of
from fugu.dataflows.records.symbols import Symbols
from tests.dataflows.kafka.played_registry import PlayedRegistry, played_registry
from tests.dataflows.records.test_avro import written

ZONES = ["rest", "light"]
TOGETHER = 10
"""Schemas that are met in one batch."""
SECONDS = 10.0
"""The time to get and to prepare one schema."""
READING: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "namespace": "vitals",
    "fields": [
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 6}},
        {"name": "zone", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["a", "b"]}},
        {
            "name": "points",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Point",
                    "fields": [
                        {"name": "note", "type": "string"},
                        {"name": "tags", "type": {"type": "map", "values": ["null", "int"]}},
                    ],
                },
            },
        },
        {
            "name": "watts",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "last", "type": ["null", "Point"], "default": None},
    ],
}
WATTS = Decimal("71.50")
POINT = {"note": "canary", "tags": {"canary": 1, "b": None}}
VALUES = [
    {"id": b"canary", "zone": zone, "at": 7, "kind": "a", "points": [POINT] * many, "watts": WATTS}
    for zone, many in (("rest", 2), ("light", 1), (None, 0))
]
TEXT = """syntax = "proto3";
package vitals;
message Reading {
  message Inner { string note = 1; repeated Inner inners = 2; }
  enum Kind { a = 0; b = 1; }
  string zone = 1; int64 at = 2; repeated Inner inners = 3; map<string, Kind> tags = 4;
  Kind kind = 5; oneof unit { double meters = 6; float feet = 7; } bytes raw = 8;
}
message Other { string zone = 1; optional int64 at = 2; }
"""
MESSAGES = [
    b"\0\x0a\x04rest\x10\x07\x1a\x08\x0a\x06canary\x22\x0a\x0a\x06canary\x10\x01\x42\x06canary",
    b"\0\x0a\x05light\x10\x07\x1a\x0c\x12\x0a\x12\x08\x0a\x06canary\x28\x01\x31" + b"\0" * 8,
    b"\x02\x02\x0a\x04rest\x10\x07",
]
HOSTILE: list[Any] = [
    *(-1, 0, 1, -(10**6), 10**9, 2**63, 1e30, True, None, "", "null", "string", "bytes"),
    *("Reading", "Point", "vitals.Point", "array", "record", "fixed", "enum", "a..b", "x" * 300),
    *([], {}, [[]], ["null"] * 50, {"type": "array", "items": "null"}),
    {"type": "fixed", "name": "Back", "size": -3},
    {"type": "bytes", "logicalType": "decimal", "precision": 10**9, "scale": 10**9},
]  # fmt: skip
PIECES = [
    *("message", "{", "}", ";", "=", "repeated", "int64", "string", "zone", "Reading", "oneof"),
    *("map<string, Reading>", "1", "0", "-1", "536870912", '"', "//", "/*", "option", "reserved"),
    *('import "x";', 'import "google/protobuf/timestamp.proto";', "google.protobuf.Timestamp"),
    *("import public", "extend", "group", "extensions 1 to max;", "\ud800", "\0", "{a:" * 2_000),
]
NAMES = ["x", "x/y", "../x", "/x", "fugu-main.proto", "x\0y", "", ".", "x" * 300, "a/" * 900]


def nodes_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a document: what holds it, and its key there."""
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(places):
        yield value, key
        if isinstance(one, dict | list):
            yield from nodes_of(one)


def mutated_avro(random: Random) -> str:
    """A schema with one to three faults."""
    whole = {"top": deepcopy(READING)}
    for _ in range(random.randrange(1, 4)):
        holder, key = random.choice(list(nodes_of(whole)))
        match random.randrange(6):
            case 0 | 1:
                holder[key] = deepcopy(random.choice(HOSTILE))
            case 2:
                other, place = random.choice(list(nodes_of(whole)))
                holder[key] = deepcopy(other[place])
            case 3:
                for _ in range(random.choice([1, 60, 240])):
                    holder[key] = random.choice(
                        [{"type": holder[key]}, {"type": "array", "items": holder[key]}]
                    )
            case 4 if len(holder) > 1:
                del holder[key]
            case _:
                if isinstance(holder[key], dict):
                    name = random.choice(["size", "precision", "scale", "logicalType", "items"])
                    holder[key][name] = deepcopy(random.choice([*HOSTILE, "decimal"]))
    return json.dumps(whole.get("top"))


def mutated_text(random: Random) -> str:
    tokens = TEXT.split(" ")
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(tokens))
        tokens[place : place + random.randrange(2)] = [random.choice(PIECES)]
    return " ".join(tokens)


def mutated_descriptor(random: Random, described: bytes) -> str:
    content = bytearray(described)
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(content))
        match random.randrange(3):
            case 0:
                content[place] = random.randrange(256)
            case 1:
                content[place : place + random.randrange(9)] = b""
            case _:
                other = random.randrange(len(content))
                content[place:place] = content[other : other + random.randrange(40)]
    return b64encode(content).decode()


def mutated_content(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randrange(4)):
        place = random.randrange(len(changed))
        changed[place] = random.choice([random.randrange(256), 0xFF, 0x7F, 0x01, 0x80])
    if random.random() < 0.2:
        place = random.randrange(len(changed))
        changed[place:place] = b"\xff" * random.randrange(12)
    return bytes(changed)[: random.choice([999, 999, random.randrange(90)])]


def add_schema(
    random: Random, registry: PlayedRegistry, kind: SchemaKind, number: int, described: bytes
) -> None:
    """Add a schema with faults, and sometimes what it refers to."""
    names = {}
    if random.random() < 0.2:
        names = dict.fromkeys(random.sample(NAMES, random.randrange(1, 4)), "other")
    if kind == "avro":
        text = mutated_avro(random)
        registry.add("other", json.dumps({"type": "fixed", "name": "Far", "size": 2}), "AVRO")
        registry.add(number, text, "AVRO", names=names)
        return
    text = mutated_text(random)
    if random.random() < 0.95:  # a compiler need not run
        text = mutated_descriptor(random, described)
        registry.add("other", b64encode(described).decode(), "PROTOBUF")
    else:
        registry.add("other", TEXT, "PROTOBUF")
    registry.add(number, text, "PROTOBUF", names=names)


def decoded(codec: Codec, contents: list[bytes]) -> Decoded:
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    columns = OptionalByteColumn.of(keys), OptionalByteColumn.of(contents)
    return codec.decode(Batch(0, range(count), [1] * count, *columns, [[]] * count))


def look_at_mutated_schemas(kind: SchemaKind, schemas: int, messages: int) -> Counter[str]:
    """Each record is read as if it were alone, or a dead letter; and nothing takes long.

    Returns what became of them. So many `messages` come with each schema; a fifth of them is also
    read alone.
    """
    random, became = Random(kind), Counter[str]()
    whole = [written(one, READING) for one in VALUES] if kind == "avro" else MESSAGES
    files = FileDescriptorSet.FromString(descriptors_of(TEXT, {})).file
    described = next(one for one in files if one.name == MAIN)
    described = FileDescriptorProto.FromString(described.SerializeToString())
    with played_registry() as registry:
        client = registry.client
        wire = Registered(kind, client, ["zone", "at"])
        codec = Codec(Symbols("zone", ZONES), 1_000_000, FieldTimestamp("at", 1), wire=wire)
        for first in range(0, schemas, TOGETHER):
            numbers = range(first + 1, first + 1 + TOGETHER)
            for number in numbers:
                add_schema(random, registry, kind, number, described.SerializeToString())
            contents = [
                prefix_of(random.choice(numbers)) + mutated_content(random, random.choice(whole))
                for _ in range(TOGETHER * messages)
            ]
            begin = time.monotonic()
            while not wire.is_ready(contents):
                assert client.away_since is None, client.away_because
                assert time.monotonic() - begin < SECONDS * TOGETHER
                time.sleep(0.002)
            begin = time.monotonic()
            found = decoded(codec, contents)
            assert time.monotonic() - begin < SECONDS
            values = dict(zip(found.offsets, found.values.tolist(), strict=True))
            assert sorted([*values, *found.dead.offsets]) == list(range(len(contents)))
            for place, content in enumerate(contents):
                if random.random() < 0.8:
                    continue
                alone = decoded(codec, [content]).values.tolist()
                assert alone == ([values[place]] if place in values else [])
            assert all(
                one in {"", "zone", "at"} or one.startswith("schema ") for one in found.dead.fields
            )
            became["read"] += len(values)
            became.update(map(str, found.dead.reasons))
    return became


@pytest.mark.parametrize(("kind", "schemas"), [("avro", 200), ("protobuf", 60)])
def test_schemas_and_messages_with_faults_make_dead_letters_at_most(
    kind: SchemaKind,
    schemas: int,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG):
        became = look_at_mutated_schemas(kind, schemas, 20)
    assert became.total() == 20 * schemas
    assert became["read"] > 20
    assert became["unusable_schema"] > 200
    assert "canary" not in caplog.text + "".join(capfd.readouterr())
