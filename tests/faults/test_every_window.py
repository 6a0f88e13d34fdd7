"""Killed in every window between publication and pointer, a pipeline leaves no trace of it."""

import signal
import time
from pathlib import Path

import orjson
import pytest

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import Document, fugu, running, write_pipeline
from tests.kafka.records import Record, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

RECORDS = 24_000
SEED = 77
KILLS = [
    ("published, no snapshot", 3),
    ("half a state write", 1),
    ("a pointer, no state", 2),
    ("half a state write", 6),
    ("sink snapshot taken", 2),
    ("state on its way", 5),
    ("state written, pointer does not count", 5),
    ("while the epoch begins to count", 1),
    ("half a new generation", 1),
    ("while state and pointer are written", 6),
    ("a pointer, no state", 7),
    ("a new generation, pointer does not count", 2),
    ("while the epoch begins to count", 12),
    ("old generation deleted", 1),
]
"""Points of `killed_inside`, and at which of their occurrences."""
_PAUSE_SECONDS = 0.05
"""Between two portions of the feed: there have to be epochs enough for generations to come and go,
however fast the pipeline is."""


@pytest.mark.parametrize("kills", first_in_test([KILLS[::2], KILLS[1::2]], 1), ids=["even", "odd"])
def test_a_kill_in_any_window_leaves_no_trace_in_the_output_or_the_budgets(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, kills: list[tuple[str, int]]
) -> None:
    private = stream(RECORDS, seed=SEED)
    source = topics("private", partitions=PARTITIONS)
    disturbed = document_with_topics(bootstrap, topics, source)
    undisturbed = document_with_topics(bootstrap, topics, source)
    for document in (disturbed, undisturbed):
        document["budget"] = {"total": 4.0}
        ledger = topics("ledger", partitions=PARTITIONS, configs={"cleanup.policy": "compact"})
        document["ledger"] = {"topic": ledger}
        document["state"]["every"] = "200ms"
    here = write_pipeline(tmp_path / "disturbed", disturbed)
    there = write_pipeline(tmp_path / "undisturbed", undisturbed)

    with paced_feed(bootstrap, disturbed, private) as feed:
        for point, occurrence in kills:
            run_until_killed(here, feed, point, occurrence)
        assert feed.fed < RECORDS, "every kill came while records were waiting"
        feed.feed(RECORDS)
        run_to_the_end(here, feed)
    with paced_feed(bootstrap, undisturbed, private, fed=RECORDS) as watch:
        run_to_the_end(there, watch)

    outcome = published(bootstrap, disturbed)
    assert outcome == published(bootstrap, undisturbed)
    check_one_outcome_each(private, *outcome)
    assert spent(here) == spent(there)
    assert streams_in_ledger(bootstrap, disturbed) == streams_in_ledger(bootstrap, undisturbed)
    shown = orjson.loads(fugu("state", "show", here, "--json"))
    assert sum(partition["compacted"] for partition in shown) > 0
    assert "are sound" in fugu("state", "verify", here)


def run_until_killed(pipeline: Path, feed: PacedFeed, point: str, occurrence: int) -> None:
    """Feed a little at a time until the pipeline kills itself."""
    with running(pipeline, killed=(point, occurrence)) as process:
        process.wait_until_started()
        while process.process.poll() is None and feed.fed < RECORDS:
            if feed.fed - feed.published() < 400:
                feed.feed(100)
                time.sleep(_PAUSE_SECONDS)
        assert process.exit_code() == -signal.SIGKILL, (point, process.stderr)


def run_to_the_end(pipeline: Path, feed: PacedFeed) -> None:
    with running(pipeline) as process:
        process.wait_until(lambda: feed.published() >= RECORDS)
        assert process.stop() == 0, process.stderr


def streams_in_ledger(bootstrap: str, document: Document) -> dict[int, list[Record]]:
    """The ledger but for the pipeline's own entry, which has the time of its start."""
    topic = read_topic(bootstrap, document["ledger"]["topic"])
    return {
        partition: [record for record in records if record.headers]
        for partition, records in topic.items()
    }


def spent(pipeline: Path) -> list[dict[str, float]]:
    """Return what every partition says of its streams and budgets."""
    shown: list[dict[str, float]] = orjson.loads(fugu("state", "show", pipeline, "--json"))
    return [{name: of[name] for name in ("streams", "mean_spent", "largest_spent")} for of in shown]
