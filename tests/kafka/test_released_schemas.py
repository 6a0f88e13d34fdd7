"""Releases by a schema in a real registry: others read them, replays write the same bytes."""

from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from kafka import KafkaConsumer

import fugu
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.files.proto_compiler import descriptors_of
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
from fugu.dataflows.records.registered import SchemaKind
from fugu.dataflows.records.release_schema import Shown, schema_text
from tests.kafka.pipelines import ALPHABET, pipeline_document, refusal, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce, read_topic
from tests.kafka.registry import Registry
from tests.kafka.topics import TopicFactory

GOOD = [Placed(0, Record(b"ann", orjson.dumps({"zone": zone}))) for zone in ALPHABET]


def deserialized(registry: Registry, kind: SchemaKind, topic: str, content: bytes) -> Any:
    """Return what Confluent's deserializer reads."""
    client = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext(topic, MessageField.VALUE)
    if kind == "avro":
        return AvroDeserializer(client)(content, context)
    if kind == "json_schema":
        return JSONDeserializer(None, schema_registry_client=client)(content, context)
    text = client.get_latest_version(f"{topic}-value").schema.schema_str or ""
    pool = DescriptorPool()
    pool.Add(FileDescriptorSet.FromString(descriptors_of(text, {})).file[0])
    release = GetMessageClass(pool.FindMessageTypeByName("fugu.Release"))
    message = ProtobufDeserializer(release, {"use.deprecated.format": False})(content, context)
    assert message is not None
    return {one.name: getattr(message, one.name) for one in message.DESCRIPTOR.fields}


@pytest.mark.parametrize("kind", get_args(SchemaKind))
def test_releases_are_read_by_a_deserializer_and_written_alike_after_a_kill(
    kind: SchemaKind, registry: Registry, bootstrap: str, topics: TopicFactory, tmp_path: Path
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


@pytest.mark.parametrize("kind", get_args(SchemaKind))
def test_a_registry_takes_added_fields_with_defaults_and_no_other_types(
    kind: SchemaKind, registry: Registry
) -> None:
    subject = f"later.{kind}-value"
    schemas = SchemaRegistry(registry.url, lambda: {"url": registry.url})
    now = (
        Shown("zone", "string", "the released symbol"),
        Shown("confidence", "double", "if known", null=True),
    )
    later = (
        *now,
        Shown("source", "string", "where it is from", null=True),
        Shown("repeated", "boolean", "whether it is repeated", default=False),
    )
    first = schemas.register(subject, schema_text(kind, now))
    registry.require_compatible(subject)
    assert schemas.register(subject, schema_text(kind, later)) != first
    assert schemas.register(subject, schema_text(kind, now)) == first
    other = Shown("zone", "boolean", "the released symbol", many=True)
    changed = schema_text(kind, (other, *now[1:]))
    with pytest.raises(StartRefused, match="refuses the schema of releases"):
        schemas.register(subject, changed)
