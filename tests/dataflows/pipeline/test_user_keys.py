"""`source.key`: the field that names the user, and what goes with it."""

from pathlib import Path

import pytest

from fugu.dataflows.pipeline.config import reading_digest
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error, with_change

VALUE = "  value: zone\n"


def keyed(key: str, more: str = "") -> str:
    return with_change(VALUE, f"{VALUE}  key: {{{key}}}\n{more}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (keyed("repartition: true"), "source.key.field: is required; add it"),
        (keyed("field: zone"), "zone names the user, and is in zone, which is released"),
        (
            keyed("field: 'zone.id'"),
            "zone.id names the user, and is in zone, which is released; release another field",
        ),
        (keyed("field: 'a..b'"), "is no path to a field"),
        (
            keyed("field: id, repartition: true", "  partitioner: crc32\n"),
            "with key.repartition Fugu chooses partitions itself",
        ),
        (
            keyed("field: id, repartition: true", "  timestamp: broker\n"),
            "whose times are in no order; write timestamp: kafka, or a field",
        ),
        (
            keyed("field: id, repartition: true", "  max_value_bytes: 2000000\n"),
            "max_value_bytes: with key.repartition write 1,000,000 or less",
        ),
        (
            keyed("field: id, repartition: true", "  partitions: follow\n"),
            "added partitions of the source are read anyway; delete it",
        ),
        (
            keyed("field: id, repartition: true").replace(
                'bootstrap: "localhost:9092"', 'bootstrap: "localhost:9092"\n  broker: embedded'
            ),
            "which kafka.broker: embedded cannot; use Apache Kafka with librdkafka",
        ),
        (
            keyed("field: id, repartition: true").replace(
                "vitals.sanitized", "heart-zones.by-user"
            ),
            "must be different ones",
        ),
    ],
)
def test_an_error_says_what_to_write(text: str, says: str, tmp_path: Path) -> None:
    assert says in read_error(tmp_path, text)


def test_a_state_belongs_to_the_field_that_names_users(tmp_path: Path) -> None:
    texts = [PIPELINE, keyed("field: id"), keyed("field: user.id")]
    digests = [reading_digest(read(tmp_path, text).pipeline) for text in texts]
    assert len(set(digests)) == 3


def test_records_by_user_are_in_a_topic_of_the_pipeline(tmp_path: Path) -> None:
    pipeline = read(tmp_path, keyed("field: id, repartition: true")).pipeline
    assert (pipeline.source.topic, pipeline.read_topic) == ("vitals.raw", "heart-zones.by-user")
    assert read(tmp_path, keyed("field: id")).pipeline.read_topic == "vitals.raw"
