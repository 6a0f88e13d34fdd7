"""A state moves from disk into Kafka with all budgets, whatever cuts the move short."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies import moving
from fugu.dataflows.copies.planning import looked_at_copy
from fugu.dataflows.flows.starting import looked_at
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from tests.faults.copies import committed, copied_document
from tests.faults.feeding import PARTITIONS, paced_feed, stream
from tests.faults.outcomes import published
from tests.faults.test_copy_crashes import on_disk, undisturbed
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 2_000
STATE_TOPIC = "fugu.dataflows.state.state_topic.StateTopic"


@pytest.mark.slow
def test_what_is_released_is_the_same_as_without_a_move_that_was_cut_short_twice(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    private = stream(RECORDS, seed=29)
    source = topics("private", partitions=PARTITIONS)
    kafka = copied_document(bootstrap, topics, source, partitions=PARTITIONS)
    kafka["budget"] = {"total": 4.0}
    disk = kafka | {"state": {"directory": "state", "every": "200ms", "shards": 2}}
    old, new = write_pipeline(tmp_path / "disk", disk), write_pipeline(tmp_path / "kafka", kafka)
    files = PipelineFile.read(old), PipelineFile.read(new)
    with paced_feed(bootstrap, kafka, private) as feed:
        with running(old) as process:
            feed.feed(RECORDS // 2)
            process.wait_until(lambda: committed(bootstrap, kafka) > RECORDS // 4)
            assert process.stop() == 0, process.stderr
        places = {
            "fugu.dataflows.copies.moving._commit": "there is no state for them",
            f"{STATE_TOPIC}.create": "fugu state move was cut short, run it once more",
        }
        for place, said in places.items():
            with monkeypatch.context() as cut_short:
                cut_short.setattr(place, _end)
                with pytest.raises(KeyboardInterrupt):
                    moving.move(*files)
            with pytest.raises(StartRefused, match="was moved into Kafka, or is being moved"):
                looked_at(files[0])
            with pytest.raises(StartRefused, match=said):
                looked_at_copy(files[1], None)
        assert moving.move(*files) == moving.move(*files) > 0
        feed.feed(RECORDS)
        with running(new) as process:
            process.wait_until(lambda: committed(bootstrap, kafka) == RECORDS)
            assert process.stop() == 0, process.stderr
    alone = undisturbed(bootstrap, on_disk(kafka, topics), private, tmp_path / "alone")
    assert published(bootstrap, kafka) == alone
    with pytest.raises(StartRefused, match="was moved into Kafka"):
        looked_at(files[0])


def _end(*_: object) -> None:
    raise KeyboardInterrupt
