"""Records with schemas in a real registry: they evolve, some are wrong, and it goes away."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from kafka import KafkaConsumer

from tests.kafka.pipelines import pipeline_document, running, write_pipeline
from tests.kafka.ports import HOST, free_ports
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.registry import Registry
from tests.kafka.topics import TopicFactory

HEART: list[dict[str, Any]] = [{"name": "zone", "type": "string"}]
NOTE = {"name": "note", "type": "string", "default": "canary"}
JSON_SCHEMA = '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'
TIME = {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}


def schema(*fields: dict[str, Any]) -> str:
    inner = {"type": "record", "name": "Heart", "fields": [*HEART, *fields]}
    whole = {
        "type": "record",
        "name": "Reading",
        "fields": [{"name": "heart", "type": inner}, TIME],
    }
    return orjson.dumps(whole).decode()


@contextmanager
def forwarding(port: int, to: int) -> Iterator[None]:
    """Let connections to one port reach another one, as long as this lasts."""
    server = socket.create_server((HOST, port))

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection((HOST, to))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        server.close()


def serialized(registry: Registry, topic: str, text: str, zone: str) -> bytes:
    """What Confluent's serializer writes, which registers the schema."""
    client = SchemaRegistryClient({"url": registry.url})
    value = {"heart": {"zone": zone, "note": "canary"}, "at": NOW}
    context = SerializationContext(topic, MessageField.VALUE)
    content: bytes = AvroSerializer(client, text)(value, context)
    return content


@pytest.mark.parametrize("store", ["disk", "kafka"])
def test_schemas_evolve_and_wait_for_a_registry_that_is_away(
    registry: Registry, bootstrap: str, topics: TopicFactory, tmp_path: Path, store: str
) -> None:
    source, port = topics("avro"), free_ports(1)
    sink = f"{source}.out"
    first = serialized(registry, source, schema(), "light")
    second = serialized(registry, source, schema(NOTE), "rest")
    assert first[:5] != second[:5]
    other = registry.register("others", '"string"')
    json = registry.register("json", JSON_SCHEMA, "JSON")
    contents = [
        first,
        second,
        b"\0" + other.to_bytes(4, "big"),
        b"\0" + json.to_bytes(4, "big") + b'{"heart":{"zone":"rest"}}',
        b"\0can" + b"ary",
        b"canary",
        first + b"canary",
        second,
    ]
    produce(bootstrap, source, [Placed(0, Record(b"ann", one)) for one in contents])
    document = pipeline_document(bootstrap, source, sink)
    url = registry.url.replace(str(registry._port), str(port))
    document["source"] |= {
        "value": "heart.zone",
        "timestamp": {"field": "at", "format": "epoch-ms"},
        "format": {"kind": "avro", "registry": {"url": url}},
    }
    document["metrics"] = {"port": free_ports(1)}
    if store == "kafka":
        document["kafka"]["client"] = "librdkafka"
        document["sink"]["create"] = True
        document["state"] = {"store": store, "every": "200ms", "topic": f"{source}.state"}
    with (
        running(write_pipeline(tmp_path, document)) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: "has told none for" in process.stderr)
        assert sum(end_offsets(consumer, sink)) == 0
        with forwarding(port, registry._port):
            process.wait_until(lambda: sum(end_offsets(consumer, f"{sink}.dead")) >= 5)
            process.wait_until(lambda: "over after" in process.stderr)
            assert process.stop() == 0, process.stderr
    released, dead = read_topic(bootstrap, sink)[0], read_topic(bootstrap, f"{sink}.dead")[0]
    assert [record.timestamp for record in released] == [NOW] * 3
    told = [orjson.loads(record.value or b"") for record in dead]
    number = int.from_bytes(first[1:5], "big")
    assert [(one["offset"], one["reason"], one["field"]) for one in told] == [
        (2, "unusable_schema", f"schema {other}"),
        (3, "unusable_schema", f"schema {json}"),
        (4, "unknown_schema", None),
        (5, "no_schema_id", None),
        (6, "not_as_schema", f"schema {number}"),
    ]
    assert "canary" not in repr(released + dead) + process.stderr


def test_a_record_of_an_unknown_schema_stays_refused_when_a_crash_replays_it(
    registry: Registry, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("unknown-schema")
    sink = f"{source}.out"
    known = serialized(registry, source, schema(), "light")
    newest = {"type": "record", "name": "Newest", "doc": source, "fields": []}
    number = registry.register(f"{source}.newest", orjson.dumps(newest).decode()) + 1
    later = b"\0" + number.to_bytes(4, "big") + known[5:-6] + b"\0" + known[-6:]
    produce(bootstrap, source, [Placed(0, Record(b"ann", one)) for one in (known, later, known)])
    document = pipeline_document(bootstrap, source, sink)
    document["source"] |= {
        "value": "heart.zone",
        "format": {"kind": "avro", "registry": {"url": registry.url}},
    }
    document["state"]["every"] = "60s"
    path = write_pipeline(tmp_path, document)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        with running(path) as process:
            process.wait_until(lambda: f"{sink}.dead" in consumer.topics())
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= 2)
            process.wait_until(lambda: sum(end_offsets(consumer, f"{sink}.dead")) >= 1)
            process.kill()
        before = read_topic(bootstrap, sink)[0]
        assert registry.register(source, schema(NOTE | {"name": "later"})) == number
        produce(bootstrap, source, [Placed(0, Record(b"ann", later))])
        with running(path) as process:
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= 3)
            assert process.stop() == 0, process.stderr
    assert read_topic(bootstrap, sink)[0][:2] == before
    [letter] = read_topic(bootstrap, f"{sink}.dead")[0]
    assert orjson.loads(letter.value or b"")["reason"] == "unknown_schema"
