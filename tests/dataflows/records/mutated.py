"""Schemas and messages with faults, as a stranger could register and write them.

About half of the schemas can be used all the same.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from fugu.dataflows.files.proto_compiler import MAIN, descriptors_of
from tests.dataflows.kafka.played_registry import PlayedRegistry
from tests.dataflows.records.test_avro import written

CANARY = "canary-4e7b"
"""It is in fields that no pipeline names."""
ZONES = ["rest", "light", "vigorous"]
KINDS = {"avro": "AVRO", "protobuf": "PROTOBUF"}
READING: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "namespace": "vitals",
    "fields": [
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 11}},
        {"name": "zone", "type": ["null", "string"]},
        {"name": "user", "type": "string"},
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
        {"name": "other", "type": "string"},
    ],
}
POINTS = [{"note": CANARY, "tags": {CANARY: 1, "b": None}}, {"note": "vigorous", "tags": {}}]
REST = {"id": CANARY.encode(), "user": f"{CANARY}-7", "kind": "a", "watts": Decimal("71.50")}
VALUES = [
    {**REST, "zone": zone, "at": at, "points": POINTS[:at], "last": last, "other": other}
    for zone, at, last, other in (
        ("rest", 2, None, CANARY),
        ("light", 1, POINTS[0], "vigorous"),
        ("vigorous", 0, None, "rest"),
        (CANARY, 0, None, "rest"),
        (None, 1, None, CANARY),
    )
]
TEXT = """syntax = "proto3";
package vitals;
message Reading {
  message Inner { string note = 1; repeated Inner inners = 2; }
  enum Kind { a = 0; b = 1; }
  string zone = 1; int64 at = 2; repeated Inner inners = 3; map<string, Kind> tags = 4;
  Kind kind = 5; oneof unit { double meters = 6; float feet = 7; } bytes raw = 8;
  string user = 9;
}
message Other { string zone = 1; optional int64 at = 2; string user = 9; }
"""
_NOTE, _USER = b"\x0a\x0b" + CANARY.encode(), b"\x4a\x0d" + CANARY.encode() + b"-7"
MESSAGES = [
    b"\0\x0a\x04rest\x10\x07\x1a\x0d" + _NOTE + b"\x22\x0f" + _NOTE + b"\x10\x01" + _USER,
    b"\0\x0a\x05light\x10\x07\x1a\x0f\x12\x0d" + _NOTE + b"\x28\x01\x31" + b"\0" * 8 + _USER,
    b"\0\x0a\x08vigorous\x10\x07\x42\x0b" + CANARY.encode() + _USER,
    b"\0" + _NOTE + b"\x42\x04rest" + _USER,
    b"\x02\x02\x0a\x04rest\x10\x07" + _USER,
]
HOSTILE: list[Any] = [
    *(-1, 0, 1, -(10**6), 10**9, 2**63, 1e30, True, None, "", "null", "string", "bytes"),
    *("Reading", "Point", "vitals.Point", "array", "record", "fixed", "enum", "a..b", "x" * 300),
    *([], {}, [[]], ["null"] * 50, {"type": "array", "items": "null"}),
    {"type": "fixed", "name": "Back", "size": -3},
    {"type": "bytes", "logicalType": "decimal", "precision": 10**9, "scale": 10**9},
]
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
PIECES = [
    *("message", "{", "}", ";", "=", "repeated", "int64", "string", "zone", "Reading", "oneof"),
    *("map<string, Reading>", "1", "0", "-1", "536870912", '"', "//", "/*", "option", "reserved"),
    *('import "x";', 'import "google/protobuf/timestamp.proto";', "google.protobuf.Timestamp"),
    *("import public", "extend", "group", "extensions 1 to max;", "\ud800", "\0", "{a:" * 2_000),
]
NAMES = ["x", "x/y", "../x", "/x", "fugu-main.proto", "x\0y", "", ".", "x" * 300, "a/" * 900]


@dataclass(frozen=True)
class MutatedSchema:
    """What a registry says of a schema; `references` are subjects by the names that it uses."""

    text: str
    kind: str
    references: Mapping[str, str] = field(default_factory=dict)


@cache
def whole_messages(kind: str) -> Sequence[bytes]:
    """Messages of the schema without faults, as they come after its id."""
    return [written(one, READING) for one in VALUES] if kind == "avro" else MESSAGES


def whole_schema(kind: str) -> MutatedSchema:
    """The schema without faults."""
    return MutatedSchema(json.dumps(READING) if kind == "avro" else TEXT, KINDS[kind])


@cache
def other_schema(kind: str) -> MutatedSchema:
    """What schemas refer to."""
    if kind == "avro":
        return MutatedSchema(json.dumps({"type": "fixed", "name": "Far", "size": 2}), "AVRO")
    return MutatedSchema(b64encode(_described()).decode(), "PROTOBUF")


def mutated_schema(random: Random, kind: str) -> MutatedSchema:
    """A schema with faults, which sometimes refers to another, or is of another kind."""
    names: Mapping[str, str] = {}
    if random.random() < 0.1:
        names = dict.fromkeys(random.sample(NAMES, random.randrange(1, 4)), "other")
    if random.random() < 0.02:
        kind = random.choice(sorted(KINDS))
    if kind == "avro":
        text = mutated_avro(random)
    elif random.random() < 0.03:  # a compiler runs for each of them
        text = mutated_text(random)
    else:
        text = mutated_descriptor(random)
    told = random.choice([*KINDS.values(), "JSON", "?"]) if random.random() < 0.02 else KINDS[kind]
    return MutatedSchema(text, told, names)


def add_to(registry: PlayedRegistry, number: int | str, schema: MutatedSchema) -> None:
    """Let a registry have a schema with this id, or in this subject."""
    registry.add(number, schema.text, schema.kind, names=schema.references)


def nodes_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a document: what holds it, and its key there."""
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(places):
        yield value, key
        if isinstance(one, dict | list):
            yield from nodes_of(one)


def mutated_avro(random: Random) -> str:
    """A schema with one to three faults, which are harmless to a compiler or not."""
    whole = {"top": deepcopy(READING)}
    change = _bent if random.random() < 0.7 else _broken
    for _ in range(random.choice([1, 1, 2, 3])):
        change(random, whole)
    return json.dumps(whole.get("top"))


def _broken(random: Random, whole: dict[str, Any]) -> None:
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


def _bent(random: Random, whole: dict[str, Any]) -> None:
    nodes = list(nodes_of(whole))
    fields = [one[key] for one, key in nodes if isinstance(key, int) and isinstance(one[key], dict)]
    one = random.choice(fields)
    match random.randrange(8):
        case 0:
            one["name"] = random.choice(["x", "y", "z", "note", "zone", "user"])
        case 1:
            key = random.choice(["doc", "default", "aliases", "order", "fugu"])
            one[key] = deepcopy(random.choice(HOSTILE))
        case 2 | 3:
            holder, key = random.choice(
                [at for at in nodes if at[1] != "name" and at[0][at[1]] in ("string", "bytes")]
                or [(one, "type")]
            )
            holder[key] = random.choice([*PRIMITIVES, *["string", "bytes"] * 5])
        case 4:
            one["type"] = {"type": one["type"]}
        case 5:
            record = random.choice([held for held, _ in nodes if "fields" in held])["fields"]
            kind = random.choice(["null", ["null", "int"], "boolean", "string"])
            record.insert(
                random.randrange(len(record) + 1), {"name": f"n{len(nodes)}", "type": kind}
            )
        case 6:
            names = ["uuid", "date", "time-millis", "timestamp-micros", "duration", "nothing"]
            one["type"] = {"type": one["type"], "logicalType": random.choice(names)}
        case _:
            record = random.choice([held for held, _ in nodes if "fields" in held])["fields"]
            first, second = (random.randrange(len(record)) for _ in range(2))
            record[first]["name"], record[second]["name"] = (
                record[second]["name"],
                record[first]["name"],
            )


def mutated_text(random: Random) -> str:
    """A text of Protocol Buffers with faults."""
    tokens = TEXT.split(" ")
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(tokens))
        tokens[place : place + random.randrange(2)] = [random.choice(PIECES)]
    return " ".join(tokens)


@cache
def _described() -> bytes:
    files = FileDescriptorSet.FromString(descriptors_of(TEXT, {})).file
    return next(one for one in files if one.name == MAIN).SerializeToString()


def mutated_descriptor(random: Random) -> str:
    """A descriptor with faults, in its fields or in its bytes."""
    if random.random() < 0.7:
        file = FileDescriptorProto.FromString(_described())
        for _ in range(random.randrange(1, 4)):
            _bent_descriptor(random, file)
        return b64encode(file.SerializeToString()).decode()
    content = bytearray(_described())
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


def _bent_descriptor(random: Random, file: FileDescriptorProto) -> None:
    messages = [*file.message_type]
    for outer in messages:
        messages += outer.nested_type
    message = random.choice(messages)
    one = random.choice(message.field or messages[0].field)
    match random.randrange(9):
        case 0:
            one.number = random.choice([*range(1, 12), 0, 19_000, 2**29 - 1, 2**29])
        case 1 | 2:
            one.type = random.choice([one.TYPE_BYTES, one.TYPE_STRING, _any_type(random)])
        case 3:
            one.label = random.choice(FieldDescriptorProto.Label.values())
        case 4:
            one.name = random.choice(["note", "x", "zone", "at", "user", "", "a.b", "x" * 300])
        case 5:
            one.type_name = random.choice(
                [".vitals.Reading", ".vitals.Reading.Kind", ".vitals.Other", "Gone", ""]
            )
        case 6:
            file.syntax = random.choice(["proto2", "proto3", "editions", "", "proto9"])
        case 7:
            message.field.remove(one) if one in message.field else message.Clear()
        case _:
            added = message.field.add(name=f"n{random.randrange(99)}", label=1)
            added.number = random.randrange(1, 40)
            added.type = _any_type(random)


def _any_type(random: Random) -> "FieldDescriptorProto.Type.ValueType":
    return random.choice(FieldDescriptorProto.Type.values())


def mutated_content(random: Random, content: bytes) -> bytes:
    """A message with at most three other bytes, which may be longer or shorter."""
    changed = bytearray(content)
    for _ in range(random.choice([0, 0, 1, 2, 3])):
        place = random.randrange(len(changed))
        changed[place] = random.choice([random.randrange(256), 0xFF, 0x7F, 0x01, 0x80])
    if random.random() < 0.1:
        place = random.randrange(len(changed))
        changed[place:place] = b"\xff" * random.randrange(12)
    return bytes(changed)[: random.choice([999] * 5 + [random.randrange(90)])]
