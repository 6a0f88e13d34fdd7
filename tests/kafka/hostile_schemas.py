"""Records of strangers by schemas of strangers, from a registry that this process plays.

A real registry refuses many of these schemas, and some accept what others refuse. What a pipeline
releases is what the libraries of Avro and Protocol Buffers read of a record, by a schema of nothing
but what says where bytes are: without `default`, `logicalType` and the like.
"""

import io
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import orjson
from confluent_kafka.schema_registry.serde import SchemaId
from fastavro import schemaless_reader
from fastavro.schema import parse_schema
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from fugu.dataflows.files.proto_compiler import descriptors_of
from tests.dataflows.kafka.played_registry import PlayedRegistry
from tests.dataflows.records.mutated import (
    ZONES,
    MutatedSchema,
    add_to,
    mutated_content,
    mutated_schema,
    other_schema,
    whole_messages,
    whole_schema,
)
from tests.kafka.hostile import (
    SHAPES,
    Perhaps,
    Shape,
    Written,
    is_user,
    strange_headers,
    strange_key,
)

SOUND = 1
"""The id of the schema without faults."""
_IN_USE = 20
"""Schemas that strangers write by at one time."""
_OF_BYTES = {
    **{"record": {"fields"}, "error": {"fields"}, "enum": {"symbols"}, "fixed": {"size"}},
    **{"array": {"items"}, "map": {"values"}},
}
"""What says where the bytes of a type of Avro are, beside its name."""

Fields = Mapping[str, object]
Reader = Callable[[bytes], Fields]
"""Reads the fields of what comes after the id of a schema, by a library."""


def json_with_schemas(registry: PlayedRegistry) -> Shape:
    """Return the records of plain JSON, most of which are behind the id of a JSON Schema."""
    plain, other = SHAPES["json"], SOUND + 1
    add_to(registry, SOUND, MutatedSchema('{"type": "object"}', "JSON"))
    add_to(registry, other, whole_schema("avro"))
    begins = [*[_prefix(SOUND)] * 20, _prefix(other), _prefix(2**31 - 1), b"", b"\0"]

    def records(random: Random) -> Iterator[Written]:
        for one in plain.records(random):
            value = None if one.value is None else random.choice(begins) + one.value
            yield replace(one, value=value)

    def truth(record: Written) -> object:
        begin = _prefix(SOUND)
        if record.value is None or not record.value.startswith(begin):
            return None
        return plain.truth(replace(record, value=record.value.removeprefix(begin)))

    source = {
        "value": "zone",
        "format": {"kind": "json_schema", "registry": {"url": registry.url}},
    }
    return Shape(source, ZONES, records, truth, ["zone", r"schema [12]"])


def with_schemas(kind: str, registry: PlayedRegistry, each: int) -> Shape:
    """Return records of one format; so many of them come with each schema that has faults."""
    written = _Schemas(kind, registry, each)
    source = {
        "value": "zone",
        "key": {"field": "user"},
        "format": {"kind": kind, "registry": {"url": registry.url}},
    }
    return Shape(source, ZONES, written.records, written.truth, ["zone", "user", r"schema [0-9]+"])


@dataclass
class _Schemas:
    """Schemas of a registry, and records by them."""

    kind: str
    registry: PlayedRegistry
    each: int
    known: dict[int, MutatedSchema] = field(default_factory=dict)
    readers: dict[int, Reader] = field(default_factory=dict)

    def records(self, random: Random) -> Iterator[Written]:
        self._add(SOUND, whole_schema(self.kind))
        add_to(self.registry, "other", other_schema(self.kind))
        while True:
            self._add(len(self.known) + SOUND, mutated_schema(random, self.kind))
            newest = max(self.known)
            for _ in range(self.each):
                number = random.randrange(max(SOUND, newest - _IN_USE), newest) + 1
                value = self._value(random, number)
                yield Written(strange_key(random), value, strange_headers(random))

    def _add(self, number: int, schema: MutatedSchema) -> None:
        self.known[number] = schema
        add_to(self.registry, number, schema)

    def _value(self, random: Random, number: int) -> bytes | None:
        content = random.choice(whole_messages(self.kind))
        match random.randrange(100):
            case 0:
                return None
            case 1:
                return random.randbytes(random.randrange(80))
            case 2 if random.random() < 0.2:  # each is asked for
                return b"\0" + random.randbytes(4) + content
            case 3:
                return _prefix(number) + random.randbytes(random.randrange(80))
            case 4:
                return mutated_content(random, _prefix(number) + content)
            case one if one < 25:
                return _prefix(SOUND) + content
            case one if one < 40:
                return _prefix(SOUND) + mutated_content(random, content)
            case one if one < 70:
                return _prefix(number) + content
        return _prefix(number) + mutated_content(random, content)

    def truth(self, record: Written) -> object:
        value = record.value
        if value is None or len(value) < 5 or value[0] != 0:
            return None
        number, content = int.from_bytes(value[1:5], "big"), value[5:]
        if number != SOUND:
            return Perhaps(partial(self._symbol, number, value))
        try:
            symbol = self._symbol(number, value)
        except Exception:  # of whatever kind the libraries have
            return None
        is_whole = symbol is None or content in whole_messages(self.kind)
        return symbol if is_whole else Perhaps(lambda: symbol)

    def _symbol(self, number: int, value: bytes) -> object:
        reader = self.readers.get(number)
        if reader is None:
            of_kind = _avro_reader if self.kind == "avro" else _protobuf_reader
            reader = self.readers[number] = of_kind(self.known[number], other_schema(self.kind))
        found = reader(value)
        zone = found.get("zone")
        return zone if is_user(found.get("user")) and zone in ZONES else None


def _prefix(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big")


def _avro_reader(schema: MutatedSchema, other: MutatedSchema) -> Reader:
    named: dict[str, Any] = {}
    if schema.references:
        parse_schema(_with_bytes(orjson.loads(other.text)), named_schemas=named)
    parsed = parse_schema(_with_bytes(orjson.loads(schema.text)), named_schemas=named)

    def read(value: bytes) -> Fields:
        stream = SchemaId("AVRO").from_bytes(io.BytesIO(value))
        found: Any = schemaless_reader(stream, parsed, None)
        assert stream.read() == b""
        return dict(found)

    return read


def _with_bytes(schema: Any) -> Any:
    """Return what says where bytes are.

    fastavro, too, reads backwards by a size below zero; nothing may be released by one.
    """
    if isinstance(schema, list):
        return list(map(_with_bytes, schema))
    if isinstance(schema, dict):
        kind = schema.get("type")
        assert kind != "fixed" or schema["size"] >= 0
        own = _OF_BYTES.get(kind, set()) if isinstance(kind, str) else set()
        kept = {"type", "name", "namespace", *own}
        return {key: _with_bytes(one) for key, one in schema.items() if key in kept}
    return schema


def _protobuf_reader(schema: MutatedSchema, other: MutatedSchema) -> Reader:
    pool, classes = DescriptorPool(), dict[tuple[int, ...], Any]()
    try:
        main = FileDescriptorProto.FromString(b64decode(schema.text, validate=True))
        main.name = "main"
        files = [main]
        for name in schema.references.keys() & set(main.dependency):
            one = FileDescriptorProto.FromString(b64decode(other.text))
            one.name = name
            files.insert(0, one)
    except ValueError:
        files = list(FileDescriptorSet.FromString(descriptors_of(schema.text, {})).file)
    for one in files:
        pool.Add(one)
    types = list(pool.FindFileByName(files[-1].name).message_types_by_name.values())

    def read(value: bytes) -> Fields:
        begin = SchemaId("PROTOBUF")
        message = begin.from_bytes(io.BytesIO(value)).read()
        place = tuple(begin.message_indexes or ())
        if place not in classes:
            classes[place] = GetMessageClass(_type_at(types, place))
        found = classes[place].FromString(message)
        return {name: getattr(found, name) for name in ("zone", "user")}

    return read


def _type_at(types: list[Descriptor], place: tuple[int, ...]) -> Descriptor:
    first, *inner = place
    described = types[first]
    for one in inner:
        described = list(described.nested_types)[one]
    return described
