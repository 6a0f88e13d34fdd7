"""An aggregate moves between disk and Kafka with all budgets, whatever cuts the move short."""

from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies import moving
from fugu.dataflows.pipeline.config import PipelineFile
from tests.faults.copied_city import City
from tests.faults.test_copied_aggregates import capped, reports, totals
from tests.faults.test_copied_aggregates import moving as moving_city
from tests.faults.test_state_move import CLAIM, COMMIT, CREATE, FINISH, WRITE, WRITE_MERGE, Journey
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, running, write_pipeline
from tests.kafka.topics import TopicFactory

FEW_INTO_KAFKA, FEW_ONTO_DISK = [(CREATE, 2)], [COMMIT]
INTO_KAFKA = [(COMMIT, 1), (COMMIT, 3), (COMMIT, 5), (CREATE, 1), (CREATE, 2)]
"""Before anything is written, between two partitions, before the merge, and before and after the
state of the merge counts."""
ONTO_DISK = [WRITE, WRITE_MERGE, COMMIT, CLAIM, FINISH]
PARTS = 4


def run(city: City, file: Path, part: int) -> None:
    """Run for some partial sums of one more part; records of ticks that are open wait in the state,
    and the merge may have read its log in part."""
    before = city.count("partials")
    city.produce(part)
    with running(file) as process:
        process.wait_until(lambda: city.count("partials") > before + 4)
        assert process.stop() == 0, process.stderr


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("make_city", "into_kafka", "onto_disk"),
    [
        (moving_city, FEW_INTO_KAFKA, FEW_ONTO_DISK),
        *((make, INTO_KAFKA, ONTO_DISK) for make in (moving_city, capped, totals, reports)),
    ],
    ids=["two cuts", "moving", "capped", "totals", "reports"],
)
def test_disk_to_kafka_to_disk_releases_the_figures_of_one_run(
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_city: Callable[[str, TopicFactory, int], City],
    into_kafka: Sequence[tuple[str, int]],
    onto_disk: Sequence[str],
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    city = make_city(bootstrap, topics, PARTS)
    disk = city.copied | {"state": {"directory": "state", "every": "200ms", "shards": 2}}
    journey = Journey(bootstrap, city.copied, disk, tmp_path / "moved", monkeypatch)
    with running(write_pipeline(tmp_path / "alone", city.on_disk)) as alone:
        run(city, journey.on_disk, 0)
        state, backup = journey.on_disk.parent / "state" / "merge", tmp_path / "backup"
        copytree(state, backup)
        run(city, journey.on_disk, 1)
        _an_older_merge_is_refused(journey, state, backup)
        journey.into_kafka(journey.in_kafka, into_kafka)
        run(city, journey.in_kafka, 2)
        journey.onto_disk(onto_disk)
        city.produce(3)
        with running(journey.on_disk) as process:
            process.wait_until(city.is_done)
            assert process.stop() == 0, process.stderr
        assert alone.stop() == 0, alone.stderr
    city.require_one_run()


def _an_older_merge_is_refused(journey: Journey, state: Path, backup: Path) -> None:
    """It would release once more what is released, and not be charged with it."""
    newest = backup.with_name("newest")
    state.rename(newest)
    copytree(backup, state)
    with pytest.raises(StartRefused, match=r"older copy|was taken over"):
        moving.move(PipelineFile.read(journey.on_disk), PipelineFile.read(journey.in_kafka))
    rmtree(state)
    newest.rename(state)
