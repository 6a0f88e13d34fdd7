"""Measure what it costs to read a record: `python -m bench.decoding`, some seconds, without Kafka.

The same records from lists by orjson, and from columns by compiled code, in turn, and some of them
in Avro and Protocol Buffers, whose lists fastavro and google.protobuf read; thread CPU
nanoseconds per record, medians of rounds.
"""

import io
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import orjson
from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from rich.console import Console
from rich.table import Table

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.files.proto_compiler import descriptors_of
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import Registered, SchemaText, Wire, prefix_of
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.values import Values
from fugu.operators.columns import IntegerColumn

RECORDS, ROUNDS = 5_000, 25
_ZONES = ["rest", "light", "vigorous"]
_LARGEST_VALUE = 10_000
_AVRO = """{"type": "record", "name": "Reading", "fields": [
    {"name": "zone", "type": "string"}, {"name": "at", "type": "long"},
    {"name": "bpm", "type": "double"}, {"name": "on", "type": "boolean"},
    {"name": "id", "type": "string"},
    {"name": "set", "type": {"type": "array", "items": "string"}}]}"""
_PROTOBUF = """syntax = "proto3";
    message Reading {
        string zone = 1; int64 at = 2; double bpm = 3;
        bool on = 4; string id = 5; repeated string set = 6;
    }"""
AVRO_OF_STREAM = """{"type": "record", "name": "Reading", "fields": [
    {"name": "zone", "type": "string"}, {"name": "bpm", "type": "int"},
    {"name": "device", "type": "string"}, {"name": "firmware", "type": "string"},
    {"name": "session", "type": "string"}, {"name": "steps", "type": "int"},
    {"name": "battery", "type": "int"}]}"""
PROTOBUF_OF_STREAM = """syntax = "proto3";
    message Reading {
        string zone = 1; int32 bpm = 2; string device = 3; string firmware = 4;
        string session = 5; int32 steps = 6; int32 battery = 7;
    }"""
"""Schemas of the records of `bench.stream`."""

Write = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True)
class Cost:
    """Hold nanoseconds per record of one domain."""

    domain: str
    lists: float
    columns: float


def measure_decoding() -> list[Cost]:
    """Measure each domain in records of six fields, and one in records of one."""
    zones, watts = Alphabet("zone", _ZONES), Numbers("bpm", units_per_one=10)
    domains: dict[str, Values] = {
        "symbols": Symbols("zone", _ZONES),
        "numbers": watts,
        "contributions": Contributions(zones, watts, upper=1_000),
        "sets": SetContributions(Alphabet("set", _ZONES)),
        "payloads": Payloads(["bpm"], null="error"),
    }
    short = [b'{"zone":"%b"}' % _ZONES[i % 3].encode() for i in range(RECORDS)]
    long = [
        b'{"zone": "%b", "at": %d, "bpm": 71.%d, "on": true, "id": "%x", "set": ["rest", "light"]}'
        % (_ZONES[i % 3].encode(), 1_700_000_000_000 + i, i % 9 + 1, i)
        for i in range(RECORDS)
    ]
    costs = [_measured("symbols, nothing else", Codec(domains["symbols"], _LARGEST_VALUE), short)]
    costs += [_measured(name, Codec(one, _LARGEST_VALUE), long) for name, one in domains.items()]
    timed = Codec(domains["symbols"], _LARGEST_VALUE, FieldTimestamp("at", 1), "id")
    costs.append(_measured("symbols, times and event ids", timed, long))
    records = [orjson.loads(one) for one in long]
    for name, wire, contents in (_avro(timed, records), _protobuf(timed, records)):
        costs.append(_measured(f"the same in {name}", replace(timed, wire=wire), contents))
    return costs


@dataclass(frozen=True)
class _OneSchema:
    """Hold one schema, in the place of a registry."""

    found: SchemaText
    url: str = ""
    away_since: float | None = None
    away_because: str = ""

    def prepare(self) -> None:
        """Do nothing."""

    def are_there(self, numbers: Set[int]) -> bool:
        """Return that it is there."""
        return True

    def text_of(self, number: int) -> SchemaText | None:
        """Return the schema."""
        return self.found

    def newest(self, subject: str) -> SchemaText | None:
        """Return the schema."""
        return self.found


def avro_writer(schema: str, number: int = 1) -> Write:
    """Return what writes records as a serializer does, by a schema of this id."""
    parsed = parse_schema(orjson.loads(schema))

    def write(record: Mapping[str, Any]) -> bytes:
        stream = io.BytesIO()
        stream.write(prefix_of(number))
        schemaless_writer(stream, parsed, record)
        return stream.getvalue()

    return write


def protobuf_writer(schema: str, number: int = 2) -> Write:
    """Return the same for the type `Reading` of a text."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptors_of(schema, {})).file:
        pool.Add(file)
    message = GetMessageClass(pool.FindMessageTypeByName("Reading"))
    prefix = prefix_of(number) + b"\0"
    return lambda record: prefix + message(**record).SerializeToString()


def _avro(codec: Codec, records: list[dict[str, Any]]) -> tuple[str, Wire, list[bytes]]:
    schemas = _OneSchema(SchemaText("AVRO", _AVRO))
    contents = list(map(avro_writer(_AVRO), records))
    return "Avro", Registered("avro", schemas, codec.names), contents


def _protobuf(codec: Codec, records: list[dict[str, Any]]) -> tuple[str, Wire, list[bytes]]:
    schemas = _OneSchema(SchemaText("PROTOBUF", _PROTOBUF))
    contents = list(map(protobuf_writer(_PROTOBUF), records))
    return "Protocol Buffers", Registered("protobuf", schemas, codec.names), contents


def _measured(name: str, codec: Codec, values: list[bytes]) -> Cost:
    codec.warm_up()
    count = range(RECORDS)
    lists = Batch(0, list(count), list(count), [b"key"] * RECORDS, list(values), [[]] * RECORDS)
    columns = replace(
        lists,
        offsets=IntegerColumn(np.arange(RECORDS)),
        timestamps=IntegerColumn(np.arange(RECORDS)),
        keys=OptionalByteColumn.of(lists.keys),
        values=OptionalByteColumn.of(lists.values),
    )
    rounds = [[_nanoseconds(codec, batch) for batch in (lists, columns)] for _ in range(ROUNDS)]
    return Cost(name, *(median(ones) for ones in zip(*rounds, strict=True)))


def _nanoseconds(codec: Codec, batch: Batch) -> float:
    begin = time.thread_time()
    codec.decode(batch)
    return (time.thread_time() - begin) / RECORDS * 1e9


def main() -> None:
    """Print a table."""
    table = Table("values", "lists, ns", "columns, ns", "ratio")
    for cost in measure_decoding():
        ratio = f"{cost.lists / cost.columns:.1f}"
        table.add_row(cost.domain, f"{cost.lists:.0f}", f"{cost.columns:.0f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
