"""Records of Protocol Buffers, from a real registry and broker to releases."""

from contextlib import closing
from pathlib import Path

import orjson
from kafka import KafkaConsumer

from tests.dataflows.records.test_protobuf import HEART, TEXT, message, reading
from tests.kafka.pipelines import fugu, pipeline_document, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce, read_topic
from tests.kafka.registry import Registry
from tests.kafka.topics import TopicFactory


def test_messages_are_released_and_what_else_they_hold_is_nowhere(
    registry: Registry,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
) -> None:
    source = topics("protobuf")
    sink = f"{source}.out"
    number = registry.register(f"{source}-value", TEXT, "PROTOBUF", {"own/heart.proto": HEART})
    prefix = b"\0" + number.to_bytes(4, "big")
    contents = [
        prefix + b"\0" + reading("light"),
        prefix + b"\0" + reading("canary"),
        prefix + b"\x02\x02" + message("vitals.Other", note="canary"),
        prefix + b"\0" + reading("rest")[:-1],
        prefix + b"\x02\0" + reading("rest"),
    ]
    produce(bootstrap, source, [Placed(0, Record(b"ann", one)) for one in contents])
    document = pipeline_document(bootstrap, source, sink)
    document["source"] |= {
        "value": "hearts[0].zone",
        "timestamp": {"field": "at", "format": "epoch-ms"},
        "format": {"kind": "protobuf", "registry": {"url": registry.url}},
    }
    path = write_pipeline(tmp_path, document)
    with (
        running(path) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: f"{sink}.dead" in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, f"{sink}.dead")) >= 3)
        assert process.stop() == 0, process.stderr
    released, dead = read_topic(bootstrap, sink)[0], read_topic(bootstrap, f"{sink}.dead")[0]
    assert [record.timestamp for record in released] == [7_042] * 2
    told = [orjson.loads(record.value or b"") for record in dead]
    assert [(one["offset"], one["reason"], one["field"]) for one in told] == [
        (1, "outside_domain", "hearts[0].zone"),
        (2, "unusable_schema", f"schema {number}"),
        (3, "not_as_schema", f"schema {number}"),
    ]
    assert "canary" not in repr(released + dead) + process.stderr
    assert f"the newest schema of {source}-value can hold all fields" in fugu(
        "validate", path, "--kafka", "--json"
    )
