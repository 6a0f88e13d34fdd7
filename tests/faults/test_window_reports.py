"""Reports of single streams whose law depends on earlier ones are the same after kills."""

from pathlib import Path
from typing import Any

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.faults.test_crashes import kill, run_until, stop
from tests.kafka.pipelines import ALPHABET, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 12_000


def values_after_kills(
    bootstrap: str, topics: TopicFactory, directory: Path, operator: dict[str, Any]
) -> list[bytes]:
    """Run with three kills and without any; return the values, which must be the same bytes."""
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    documents = [document_with_topics(bootstrap, topics, source) for _ in range(2)]
    for document in documents:
        document["operator"] = {"alphabet": ALPHABET, **operator}
    disturbed, undisturbed = documents
    with paced_feed(bootstrap, disturbed, private) as feed:
        pipeline = write_pipeline(directory / "disturbed", disturbed)
        recognised = [run_until(pipeline, feed, RECORDS * part // 4, kill) for part in (1, 2, 3)]
        recognised.append(run_until(pipeline, feed, RECORDS, stop))
    with paced_feed(bootstrap, undisturbed, private, fed=RECORDS) as watch:
        run_until(write_pipeline(directory / "undisturbed", undisturbed), watch, RECORDS, stop)
    outcome = published(bootstrap, disturbed)
    assert outcome == published(bootstrap, undisturbed)
    check_one_outcome_each(private, *outcome)
    assert max(recognised) > 0
    return [record.value or b"" for records in outcome[0].values() for record in records]


def test_kills_leave_no_trace_in_reports_and_in_what_is_repeated(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    flags = {"matrix": [[0.9, 0.1], [0.1, 0.9]]}
    pba = {"kind": "pba_ldp", "epsilon": 8.0, "window": 4, "flags": flags}
    values = values_after_kills(bootstrap, topics, tmp_path, pba)
    repeated = sum(b'"repeated":true' in value for value in values)
    assert 0 < repeated < len(values)
    assert (
        len({value.partition(b'"epsilon":')[2].rstrip(b"}").split(b",")[0] for value in values})
        == 2
    )


def test_kills_leave_no_trace_in_the_sets_that_follow_from_releases(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """The belief of `pim` is state; set and surrogate of every release depend on it."""
    section = {"model": "model.json", "distance": "ordered", "delta": 0.2}
    pim = {"kind": "pim", "epsilon": 2.0, "accept_growing_loss": True, **section}
    values = values_after_kills(bootstrap, topics, tmp_path, pim)
    assert len({value.partition(b'"confidence":')[2] for value in values}) > 10
