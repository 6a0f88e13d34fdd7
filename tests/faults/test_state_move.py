"""A state moves between disk and Kafka with all budgets, whatever cuts the move short."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from pkgutil import resolve_name

import pytest
from kafka import KafkaAdminClient, TopicPartition

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies import moving, moving_back
from fugu.dataflows.copies.planning import looked_at_copy
from fugu.dataflows.flows.starting import looked_at
from fugu.dataflows.pipeline.config import PipelineFile
from tests.faults.copies import committed, copied_document, on_disk, undisturbed
from tests.faults.feeding import PARTITIONS, PacedFeed, paced_feed, stream
from tests.faults.outcomes import published
from tests.kafka.pipelines import (
    SECRET,
    SECRET_VARIABLE,
    Document,
    ended,
    refusal,
    running,
    write_pipeline,
)
from tests.kafka.records import end_offsets
from tests.kafka.topics import TopicFactory

RECORDS = 2_000
COMMIT = "fugu.dataflows.copies.sole_member.SoleMember.commit"
CREATE = "fugu.dataflows.state.state_topic.StateTopic.create"
WRITE_MERGE = "fugu.dataflows.flows.written_state.StoppedMerge.write"
WRITE = "fugu.dataflows.flows.written_state.StoppedShard.write"
CLAIM = "fugu.dataflows.copies.moving_back._claim"
FINISH = "fugu.dataflows.state.exchange.Exchange.finish"
ON_DISK = "was moved to disk, to directory"
IN_KAFKA = "was moved into Kafka, or is being moved"


@dataclass
class Journey:
    """One pipeline, whose state is at one place after the other."""

    bootstrap: str
    kafka: Document
    disk: Document
    path: Path
    monkeypatch: pytest.MonkeyPatch

    def __post_init__(self) -> None:
        self.on_disk, self.in_kafka = self._written("disk", self.disk), self.again(self.kafka)

    def again(self, kafka: Document) -> Path:
        """One more file for a state in Kafka."""
        return self._written(kafka["state"]["topic"], kafka)

    def _written(self, name: str, document: Document) -> Path:
        return write_pipeline(self.path / name, document)

    def run(self, file: Path, feed: PacedFeed, part: float) -> None:
        """Run until this part of the stream is released."""
        feed.feed(int(part * RECORDS) - feed.fed)
        with running(file) as process:
            process.wait_until(lambda: committed(self.bootstrap, self.kafka) == feed.fed)
            assert process.stop() == 0, process.stderr

    def cut_short(self, place: str, move: Callable[[], int], at: int = 1) -> None:
        """End a move where it comes to a place for so many times."""
        with self.monkeypatch.context() as patched:
            patched.setattr(place, _ending(place, at))
            with pytest.raises(KeyboardInterrupt):
                move()

    def into_kafka(self, file: Path, cuts: Sequence[tuple[str, int]] = ()) -> None:
        """Move into Kafka; until it is done, neither store goes on."""
        files = PipelineFile.read(self.on_disk), PipelineFile.read(file)
        for place, at in cuts:
            self.cut_short(place, lambda: moving.move(*files), at)
            self._refused(files[0], IN_KAFKA)
            self._refused(files[1], "there is no state for them|was cut short, run it once more")
        assert moving.move(*files) == moving.move(*files) > 0
        self._refused(files[0], IN_KAFKA)
        looked_at_copy(files[1], None)

    def onto_disk(self, cuts: Sequence[str] = ()) -> None:
        """Move back; copies go on until the topic says otherwise, and never both."""
        files = PipelineFile.read(self.in_kafka), PipelineFile.read(self.on_disk)
        for place in cuts:
            self.cut_short(place, lambda: moving_back.move_back(*files))
            if place in (WRITE, WRITE_MERGE, COMMIT):
                looked_at_copy(files[0], None)
            else:
                self._refused(files[0], ON_DISK)
            self._refused(files[1], "moved|exchanged")
        assert moving_back.move_back(*files) == moving_back.move_back(*files) > 0
        self._refused(files[0], ON_DISK)
        looked_at(files[1])

    def _refused(self, file: PipelineFile, why: str) -> None:
        look = looked_at_copy if file.pipeline.state.in_kafka else looked_at
        with pytest.raises(StartRefused, match=why):
            look(file, None)


@pytest.fixture
def journey(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Journey:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    source = topics("private", partitions=PARTITIONS)
    kafka = copied_document(bootstrap, topics, source, partitions=PARTITIONS)
    kafka["budget"] = {"total": 4.0}
    disk = kafka | {"state": {"directory": "state", "every": "200ms", "shards": 2}}
    return Journey(bootstrap, kafka, disk, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("into_kafka", "onto_disk"),
    [
        ([(CREATE, 1)], [COMMIT]),
        pytest.param(
            [(COMMIT, 1), (COMMIT, 3), (CREATE, 1)],
            [WRITE, COMMIT, CLAIM, FINISH],
            marks=pytest.mark.acceptance,
        ),
    ],
    ids=["two cuts", "a cut anywhere"],
)
def test_disk_to_kafka_to_disk_releases_what_is_released_without_a_move(
    journey: Journey,
    topics: TopicFactory,
    tmp_path: Path,
    into_kafka: Sequence[tuple[str, int]],
    onto_disk: Sequence[str],
) -> None:
    private = stream(RECORDS, seed=29)
    with paced_feed(journey.bootstrap, journey.kafka, private) as feed:
        journey.run(journey.on_disk, feed, 0.4)
        journey.into_kafka(journey.in_kafka, into_kafka)
        journey.run(journey.in_kafka, feed, 0.7)
        journey.onto_disk(onto_disk)
        journey.run(journey.on_disk, feed, 1.0)
    alone = on_disk(journey.kafka, topics)
    assert published(journey.bootstrap, journey.kafka) == undisturbed(
        journey.bootstrap, alone, private, tmp_path / "alone"
    )


@pytest.mark.acceptance
def test_a_state_that_was_moved_back_moves_into_another_topic_again(
    journey: Journey, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=30)
    state = journey.kafka["state"]
    other = journey.again(journey.kafka | {"state": state | {"topic": f"{state['topic']}.2"}})
    with paced_feed(journey.bootstrap, journey.kafka, private) as feed:
        journey.run(journey.in_kafka, feed, 0.3)
        journey.onto_disk()
        journey.run(journey.on_disk, feed, 0.6)
        files = PipelineFile.read(journey.on_disk), PipelineFile.read(journey.in_kafka)
        with pytest.raises(StartRefused, match="name another topic"):
            moving.move(*files)
        journey.into_kafka(other)
        journey.run(other, feed, 1.0)
    alone = on_disk(journey.kafka, topics)
    assert published(journey.bootstrap, journey.kafka) == undisturbed(
        journey.bootstrap, alone, private, tmp_path / "alone"
    )


@pytest.mark.slow
def test_a_state_is_not_moved_while_a_copy_runs(journey: Journey) -> None:
    private = stream(RECORDS, seed=31)
    files = PipelineFile.read(journey.in_kafka), PipelineFile.read(journey.on_disk)
    journey.monkeypatch.setattr("fugu.dataflows.copies.sole_member._PATIENCE_SECONDS", 4.0)
    with (
        paced_feed(journey.bootstrap, journey.kafka, private) as feed,
        running(journey.in_kafka) as copy,
    ):
        feed.feed(RECORDS // 2)
        copy.wait_until(lambda: committed(journey.bootstrap, journey.kafka) == feed.fed)
        with pytest.raises(StartRefused, match=r"other members own [24] of 4 partitions"):
            moving_back.move_back(*files)
        feed.feed(RECORDS)
        copy.wait_until(lambda: committed(journey.bootstrap, journey.kafka) == RECORDS)
        assert copy.stop() == 0, copy.stderr


@pytest.mark.acceptance
def test_a_state_in_kafka_goes_on_behind_what_retention_removed_by_way_of_the_disk(
    journey: Journey,
) -> None:
    source, gone = journey.kafka["source"]["topic"], 450
    with paced_feed(journey.bootstrap, journey.kafka, stream(RECORDS, seed=32)) as feed:
        journey.run(journey.in_kafka, feed, 0.8)
        read = end_offsets(feed.consumer, source)[1]
        feed.feed(RECORDS)
        with KafkaAdminClient(bootstrap_servers=journey.bootstrap) as admin:
            admin.delete_records({TopicPartition(source, 1): gone})
        assert read < gone < end_offsets(feed.consumer, source)[1]
        assert f"--accept-gap {source}:1" in refusal(journey.in_kafka)
        files = PipelineFile.read(journey.in_kafka), PipelineFile.read(journey.on_disk)
        assert moving_back.move_back(*files) > 0
        file = str(journey.on_disk)
        assert ended(["migrate", file, file, "--accept-gap", f"{source}:1"]).returncode == 0
        with running(journey.on_disk) as process:
            rest = RECORDS - (gone - read)
            process.wait_until(lambda: committed(journey.bootstrap, journey.kafka) == rest)
            assert process.stop() == 0, process.stderr


def _ending(place: str, at: int) -> Callable[..., object]:
    """Return the function at `place`, interrupted at call number `at`."""
    original, calls = resolve_name(place), count(1)

    def ending(*arguments: object) -> object:
        if next(calls) == at:
            raise KeyboardInterrupt
        return original(*arguments)

    return ending
