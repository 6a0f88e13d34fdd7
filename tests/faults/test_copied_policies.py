"""Copies over a state in Kafka take changes of policies in, in time, whoever of them dies."""

import signal
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from tests.faults.copies import in_kafka, name_of, named
from tests.faults.households import (
    PARTITIONS,
    exact_pipeline,
    figures_of,
    meters,
    pipeline,
    write_household,
    write_later_household,
)
from tests.faults.test_policy_barrier import RELEASED, TICKS, counting, exact, hiding
from tests.faults.test_policy_changes import CHANGES, POLICIES
from tests.faults.test_state_move import COMMIT, CREATE, FINISH, WRITE_MERGE, Journey
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, Document, running
from tests.kafka.records import produce, read_topic
from tests.kafka.topics import TopicFactory

KILLS = [
    ("policies read, no mark", 1),
    ("positions sent, no commit", 5),
    ("a mark read", 1),
    ("policies told, no figure", 3),
    ("a figure made, not written", 2),
    ("committed, not known", 5),
]
"""Points of `killed_inside`, and at which of their occurrences."""


def copied(document: Document) -> Document:
    """The same pipeline with its state in Kafka."""
    name = name_of(document["source"]["topic"])
    return in_kafka(document | {"name": name}, every="100ms")


@pytest.mark.slow
def test_policies_are_known_in_time_whichever_copy_reads_them(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """The merge and the topic of policies may be those of two copies."""
    document, begin, random = copied(exact_pipeline(bootstrap, topics)), 12, Random(8)
    path, source = write_later_household(tmp_path, document), document["source"]
    with running(path) as one, running(path) as other, counting(bootstrap, document) as released:
        produce(bootstrap, source["topic"], meters(0, begin, random))
        one.wait_until(partial(released, begin - 1))
        produce(bootstrap, source["policies"], [hiding(begin)])
        produce(bootstrap, source["topic"], meters(begin, TICKS, random))
        one.wait_until(partial(released, RELEASED))
        assert [one.stop(), other.stop()] == [0, 0], (one.stderr, other.stderr)
    figures = figures_of(bootstrap, document)
    assert sorted(figures) == list(range(RELEASED))
    assert exact(figures, 0) == list(range(begin))


@pytest.mark.acceptance
def test_copies_that_die_while_policies_change_leave_the_series_of_one_run_on_disk(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, changes = topics("power", partitions=PARTITIONS), topics("policies")
    there, here = (pipeline(bootstrap, topics, source, changes) for _ in range(2))
    there["name"], here = name_of(source), copied(here)
    paths = [
        write_household(tmp_path / name, document, POLICIES)
        for name, document in (("disk", there), ("kafka", here))
    ]
    produce(bootstrap, changes, [placed for _, placed in CHANGES])
    stages = [*range(0, TICKS, -(-TICKS // len(KILLS))), TICKS]
    for (point, occurrence), stage in zip(KILLS, pairwise(stages), strict=True):
        produce(bootstrap, source, meters(*stage, Random(stage[0])))
        with named("pod"), running(paths[1], killed=(point, occurrence)) as process:
            assert process.exit_code() == -signal.SIGKILL, (point, process.stderr)
    for path, document in zip(paths, (there, here), strict=True):
        with running(path) as process, counting(bootstrap, document) as released:
            process.wait_until(partial(released, RELEASED))
            assert process.stop() == 0, process.stderr
    for name in ("topic", "dead_letters"):
        assert read_topic(bootstrap, here["sink"][name]) == read_topic(
            bootstrap, there["sink"][name]
        )
    seen = read_topic(bootstrap, here["sink"]["topic"], "read_uncommitted")[0]
    assert set(seen) == set(read_topic(bootstrap, here["sink"]["topic"])[0])


@pytest.mark.acceptance
def test_policies_that_change_move_between_disk_and_kafka_with_the_state(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    source, changes = topics("power", partitions=PARTITIONS), topics("policies")
    alone, moved = (pipeline(bootstrap, topics, source, changes) for _ in range(2))
    moved = copied(moved)
    alone["name"] = moved["name"]
    undisturbed = write_household(tmp_path / "alone", alone, POLICIES)
    moved["operator"]["policies"] = str(undisturbed.parent / "policies.yaml")
    disk = moved | {"state": alone["state"]}
    journey = Journey(bootstrap, moved, disk, tmp_path / "moved", monkeypatch)
    begins = 0, TICKS // 3, 2 * TICKS // 3, TICKS
    parts = [meters(*part, Random(part[0])) for part in pairwise(begins)]
    ends = [end - 1 for end in begins[1:]]
    produce(bootstrap, changes, [placed for _, placed in CHANGES])
    with counting(bootstrap, moved) as released:

        def run(path: Path, part: int) -> None:
            produce(bootstrap, source, parts[part])
            with running(path) as process:
                process.wait_until(partial(released, ends[part]))
                assert process.stop() == 0, process.stderr

        run(journey.on_disk, 0)
        journey.into_kafka(journey.in_kafka, [(COMMIT, 6), (CREATE, 1), (CREATE, 3)])
        run(journey.in_kafka, 1)
        journey.onto_disk([WRITE_MERGE, COMMIT, FINISH])
        run(journey.on_disk, 2)
    with (
        running(undisturbed) as process,
        counting(bootstrap, alone) as released,
    ):
        process.wait_until(partial(released, ends[-1]))
        assert process.stop() == 0, process.stderr
    for name in ("topic", "dead_letters"):
        here, there = (read_topic(bootstrap, one["sink"][name]) for one in (moved, alone))
        assert here == there
