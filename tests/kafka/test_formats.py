"""Records in the formats that Kafka users have, from a real broker to releases, by both clients."""

from contextlib import closing
from pathlib import Path

import orjson
from kafka import KafkaConsumer

from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import both, kafka_section
from tests.kafka.pipelines import pipeline_document, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

TIME = 1_767_225_600_250
DATA = {"zone": "light", "note": "canary"}
ATTRIBUTES = {
    "specversion": "1.0",
    "type": "vitals.zone",
    "source": "/canary",
    "id": "e-1",
    "time": "2026-01-01T00:00:00.250Z",
}
BINARY = tuple((f"ce_{name}", value.encode()) for name, value in ATTRIBUTES.items())
GOOD = [
    Record(b"ann", orjson.dumps({**ATTRIBUTES, "data": DATA}), timestamp=7),
    Record(b"bob", orjson.dumps(DATA), BINARY, timestamp=7),
]
BAD = [
    Record(b"ann", orjson.dumps({**ATTRIBUTES, "data": {"canary": 1}})),
    Record(b"bob", b"canary", BINARY),
]


@both
def test_cloud_events_are_released_and_what_else_they_hold_is_nowhere(
    library: Library, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("cloud-events")
    sink = f"{source}.out"
    produce(bootstrap, source, [Placed(0, record) for record in GOOD * 2 + BAD])
    document = pipeline_document(bootstrap, source, sink)
    document["kafka"] = kafka_section(bootstrap, library)
    document["source"] |= {
        "value": "data.zone",
        "format": "cloudevents",
        "timestamp": {"field": "time", "format": "rfc3339"},
        "dedupe": {"field": "id"},
    }
    with (
        running(write_pipeline(tmp_path, document)) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: f"{sink}.dead" in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, f"{sink}.dead")) >= 4)
        assert process.stop() == 0, process.stderr
    released, dead = read_topic(bootstrap, sink)[0], read_topic(bootstrap, f"{sink}.dead")[0]
    assert [record.timestamp for record in released] == [TIME, TIME]
    assert {tuple(orjson.loads(one.value or b"")) for one in released} == {("zone", "confidence")}
    told = [orjson.loads(record.value or b"") for record in dead]
    assert [(one["offset"], one["reason"], one["field"]) for one in told] == [
        (2, "duplicate", None),
        (3, "duplicate", None),
        (4, "field_missing", "data.zone"),
        (5, "not_json", None),
    ]
    outside = [process.stderr, repr(released + dead)]
    assert [text for text in outside if "canary" in text] == []
    assert "light" not in process.stderr
