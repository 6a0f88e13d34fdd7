"""An aggregate in several processes has one merge, and releases the series of a single process."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import aggregate_document
from tests.faults.outcomes import published
from tests.faults.supervised import process_ids
from tests.faults.test_aggregate_crashes import OPERATOR, TICKS, ZONES, trips
from tests.kafka.pipelines import running, write_pipeline
from tests.kafka.records import end_offsets, produce
from tests.kafka.topics import TopicFactory

PARTS = 4


@pytest.mark.acceptance
def test_killed_and_dealt_out_again_it_releases_the_series_of_one_process(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    placed, _ = trips()
    source = topics("trips", partitions=PARTITIONS)
    dealt, whole = (aggregate_document(bootstrap, topics, source, OPERATOR) for _ in range(2))
    here = write_pipeline(tmp_path / "dealt", dealt)
    there = write_pipeline(tmp_path / "whole", whole)
    size = -(-len(placed) // PARTS)

    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def released(part: int, sink: str = dealt["sink"]["topic"]) -> bool:
            """Most of what can come out after a part, or after the last one everything."""
            ticks = TICKS - 1 if part == PARTS else TICKS * part // PARTS - 4
            return sum(end_offsets(consumer, sink)) >= ticks * len(ZONES)

        def feed(part: int) -> None:
            produce(bootstrap, source, placed[(part - 1) * size : part * size])

        with running(here, "--processes", "2") as two:
            feed(1)
            two.wait_until(lambda: released(1))
            two.wait_until(lambda: "process 0 runs partitions 0, 2, 3 and merges;" in two.stderr)
            for number, process_id in enumerate(process_ids(two)):
                os.kill(process_id, signal.SIGKILL)
                feed(2 + number)
                two.wait_until(lambda part=2 + number: released(part))  # type: ignore[misc]
            assert two.stop() == 0, two.stderr
        with running(here, "--processes", "3") as three:
            feed(PARTS)
            three.wait_until(lambda: released(PARTS))
            assert three.stop() == 0, three.stderr
        with running(there) as alone:
            alone.wait_until(lambda: released(PARTS, whole["sink"]["topic"]))
            assert alone.stop() == 0, alone.stderr
    assert two.stderr.count("ended by itself (signal 9)") == 2
    assert published(bootstrap, dealt) == published(bootstrap, whole)
