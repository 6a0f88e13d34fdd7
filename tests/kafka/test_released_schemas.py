"""Releases by a schema in a real registry: others read them, replays write the same bytes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from kafka import KafkaConsumer

import fugu
from tests.kafka.pipelines import ALPHABET, pipeline_document, refusal, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce, read_topic
from tests.kafka.registry import Registry
from tests.kafka.topics import TopicFactory

GOOD = [Placed(0, Record(b"ann", orjson.dumps({"zone": zone}))) for zone in ALPHABET]


def deserialized(registry: Registry, kind: str, topic: str, content: bytes) -> Any:
    """What Confluent's deserializer reads."""
    client = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext(topic, MessageField.VALUE)
    if kind == "avro":
        return AvroDeserializer(client)(content, context)
    return JSONDeserializer(None, schema_registry_client=client)(content, context)


@pytest.mark.parametrize("kind", ["avro", "json_schema"])
def test_releases_are_read_by_a_deserializer_and_written_alike_after_a_kill(
    kind: str, registry: Registry, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("released-schema")
    sink = f"{source}.out"
    produce(bootstrap, source, GOOD)
    document = pipeline_document(bootstrap, source, sink)
    document["sink"]["format"] = {"kind": kind, "registry": {"url": registry.url}}
    document["state"]["every"] = "60s"
    path = write_pipeline(tmp_path, document)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        with running(path) as process:
            process.wait_until(lambda: sink in consumer.topics())
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= len(GOOD))
            process.kill()
        before = read_topic(bootstrap, sink)[0]
        produce(bootstrap, source, GOOD[:1])
        with running(path) as process:
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= len(GOOD) + 1)
            assert process.stop() == 0, process.stderr
    released = read_topic(bootstrap, sink)[0]
    assert released[:-1] == before
    contents = [record.value or b"" for record in released]
    assert len({content[:5] for content in contents}) == 1
    read = [deserialized(registry, kind, sink, content) for content in contents]
    values = fugu.read(f"kafka://{bootstrap}/{sink}").records["value"].to_pylist()
    assert [one["zone"] for one in read] == values
    assert {one.get("repeated", False) for one in read} == {False}
    if kind == "json_schema":
        number = registry.register(f"{sink}.others", '"string"')
        strange = b"\0" + number.to_bytes(4, "big") + b"{}"
        produce(bootstrap, sink, [Placed(0, Record(b"ann", strange))])
        assert f"was written by schema {number}, which the registry" in refusal(path)
