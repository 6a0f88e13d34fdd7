"""Reports under a budget of windows are the same after kills, to the byte."""

from pathlib import Path

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.faults.test_crashes import kill, run_until, stop
from tests.kafka.pipelines import ALPHABET, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 12_000


def test_kills_leave_no_trace_in_reports_and_in_what_is_repeated(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    documents = [document_with_topics(bootstrap, topics, source) for _ in range(2)]
    for document in documents:
        document["operator"] = {
            "kind": "pba_ldp",
            "alphabet": ALPHABET,
            "epsilon": 8.0,
            "window": 4,
            "flags": {"matrix": [[0.9, 0.1], [0.1, 0.9]]},
        }
    disturbed, undisturbed = documents
    with paced_feed(bootstrap, disturbed, private) as feed:
        pipeline = write_pipeline(tmp_path / "disturbed", disturbed)
        recognised = [run_until(pipeline, feed, RECORDS * part // 4, kill) for part in (1, 2, 3)]
        recognised.append(run_until(pipeline, feed, RECORDS, stop))
    with paced_feed(bootstrap, undisturbed, private, fed=RECORDS) as watch:
        run_until(write_pipeline(tmp_path / "undisturbed", undisturbed), watch, RECORDS, stop)
    outcome = published(bootstrap, disturbed)
    assert outcome == published(bootstrap, undisturbed)
    check_one_outcome_each(private, *outcome)
    assert max(recognised) > 0
    values = [record.value or b"" for records in outcome[0].values() for record in records]
    repeated = sum(b'"repeated":true' in value for value in values)
    assert 0 < repeated < len(values)
    assert (
        len({value.partition(b'"epsilon":')[2].rstrip(b"}").split(b",")[0] for value in values})
        == 2
    )
