"""Records in every format that is read, with canaries in everything that is not released."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro import parse_schema, schemaless_writer

from tests.dataflows.records.test_protobuf import HEART, TEXT, message, reading
from tests.kafka.records import Record
from tests.kafka.registry import Registry

CANARY = "canary"
TIME = 1_767_225_600_250
TEXT_TIME = "2026-01-01T00:00:00.250Z"
ZONES = ["rest", "light", CANARY]
"""The third one is no symbol of the alphabet."""
MILLISECONDS = {"field": "at", "format": "epoch-ms"}
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "zone", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": "string"},
    ],
}
JSON_SCHEMA = orjson.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Reading",
        "type": "object",
        "properties": {"zone": {"type": "string"}},
    }
).decode()
EVENT = {"specversion": "1.0", "type": CANARY, "source": f"/{CANARY}", "time": TEXT_TIME}
Refused = tuple[str, str | None]
Write = Callable[[Registry, str], list[Record]]


@dataclass(frozen=True)
class Format:
    """A format: the section of its source, and two good records before those that are refused.

    Of a refused one, reason and field are told; `{}` in a field is the id of the schema.
    """

    source: dict[str, Any]
    written: Write
    told: list[Refused]
    sink: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    def section(self, registry: Registry) -> dict[str, Any]:
        """Return what the section `source` says beside its topic."""
        section, described = dict(self.source), self.source["format"]
        if isinstance(described, dict) and "schema_file" not in described:
            section["format"] = described | {"registry": {"url": registry.url}}
        return section


def record(value: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> Record:
    """A record of a user whose name is private too."""
    return Record(f"{CANARY}-ann".encode(), value, (*headers, (CANARY, CANARY.encode())))


def flat(zone: str) -> dict[str, object]:
    return {"zone": zone, "at": TIME, "note": CANARY}


def in_json(_: Registry, __: str) -> list[Record]:
    contents = [orjson.dumps(flat(zone)) for zone in ZONES]
    return [record(one) for one in (*contents, CANARY.encode())]


def in_structured_events(_: Registry, __: str) -> list[Record]:
    """The last one is the first one once more, in binary mode."""
    data = [*({"zone": zone, "note": CANARY} for zone in ZONES), {CANARY: 1}]
    events = [
        record(orjson.dumps({**attributes(number), "data": one})) for number, one in enumerate(data)
    ]
    return [*events, in_binary(0, orjson.dumps(data[0]))]


def in_binary_events(_: Registry, __: str) -> list[Record]:
    contents = [orjson.dumps({"zone": zone, "note": CANARY}) for zone in ZONES]
    return [in_binary(number, one) for number, one in enumerate((*contents, CANARY.encode()))]


def in_binary(number: int, content: bytes) -> Record:
    held = attributes(number).items()
    return record(content, tuple((f"ce_{name}", text.encode()) for name, text in held))


def attributes(number: int) -> dict[str, str]:
    return EVENT | {"id": f"{CANARY}-{number}"}


def in_changes(_: Registry, __: str) -> list[Record]:
    changes = [
        {"op": "u", "before": {"zone": CANARY}, "after": flat(zone), "source": {"ts_ms": TIME}}
        for zone in ZONES
    ]
    gone = {"op": "d", "before": flat("rest"), "after": None, "source": {"ts_ms": TIME}}
    return [record(orjson.dumps(one)) for one in (*changes, gone)]


def in_raw_avro(_: Registry, __: str) -> list[Record]:
    schema, contents = parse_schema(AVRO), list[bytes]()
    for zone in ZONES:
        stream = io.BytesIO()
        schemaless_writer(stream, schema, flat(zone))
        contents.append(stream.getvalue())
    return [record(one) for one in (*contents, contents[0] + CANARY.encode())]


def serialized(registry: Registry, topic: str, kind: str) -> list[Record]:
    """Return what Confluent's serializers write, and the same with something behind it."""
    client = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext(topic, MessageField.VALUE)
    write: Any = (
        AvroSerializer(client, orjson.dumps(AVRO).decode())
        if kind == "avro"
        else JSONSerializer(JSON_SCHEMA, client)
    )
    contents = [write(flat(zone), context) for zone in ZONES]
    return [record(one) for one in (*contents, contents[0] + CANARY.encode())]


def in_avro(registry: Registry, topic: str) -> list[Record]:
    return serialized(registry, topic, "avro")


def by_json_schema(registry: Registry, topic: str) -> list[Record]:
    return serialized(registry, topic, "json_schema")


def in_protobuf(registry: Registry, topic: str) -> list[Record]:
    number = registry.register(f"{topic}-value", TEXT, "PROTOBUF", {"own/heart.proto": HEART})
    prefix = b"\0" + number.to_bytes(4, "big")
    at = {"seconds": TIME // 1000, "nanos": TIME % 1000 * 1_000_000}
    contents = [prefix + b"\0" + reading(zone, at=at) for zone in ZONES]
    other = prefix + b"\x02\x02" + message("vitals.Other", note=CANARY)
    return [record(one) for one in (*contents, other, contents[0][:-1])]


def events(written: Write, *more: Refused) -> Format:
    source = {
        "value": "data.zone",
        "format": "cloudevents",
        "timestamp": {"field": "time", "format": "rfc3339"},
        "dedupe": {"field": "id"},
    }
    return Format(source, written, [("outside_domain", "data.zone"), *more])


def of_avro(described: dict[str, Any], written: Write, last: Refused, sink: str | None) -> Format:
    source = {"value": "zone", "format": described, "timestamp": MILLISECONDS}
    files = {"reading.avsc": orjson.dumps(AVRO)} if "schema_file" in described else {}
    return Format(source, written, [("outside_domain", "zone"), last], sink, files)


WRONG = ("not_as_schema", "schema {}")
FORMATS = {
    "json": Format(
        {"value": "zone", "format": "json", "timestamp": MILLISECONDS},
        in_json,
        [("outside_domain", "zone"), ("not_json", None)],
    ),
    "json_schema": of_avro({"kind": "json_schema"}, by_json_schema, WRONG, "json_schema"),
    "avro": of_avro({"kind": "avro"}, in_avro, WRONG, "avro"),
    "protobuf": Format(
        {
            "value": "hearts[0].zone",
            "format": {"kind": "protobuf"},
            "timestamp": MILLISECONDS,
        },
        in_protobuf,
        [("outside_domain", "hearts[0].zone"), ("unusable_schema", "schema {}"), WRONG],
        "protobuf",
    ),
    "raw_avro": of_avro(
        {"kind": "avro", "schema_file": "reading.avsc"},
        in_raw_avro,
        ("not_as_schema", None),
        None,
    ),
    "cloudevents_structured": events(
        in_structured_events, ("field_missing", "data.zone"), ("duplicate", None)
    ),
    "cloudevents_binary": events(in_binary_events, ("not_json", None)),
    "debezium": Format(
        {
            "value": "after.zone",
            "format": "debezium",
            "timestamp": {"field": "source.ts_ms", "format": "epoch-ms"},
        },
        in_changes,
        [("outside_domain", "after.zone"), ("row_deleted", None)],
    ),
}
