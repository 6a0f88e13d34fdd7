"""Topics that Kafka compacts: refused where records are read again, harmless where they are not."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.copies import House, copied_document, take_in
from tests.faults.feeding import document_with_topics
from tests.kafka.compaction import compact
from tests.kafka.pipelines import (
    Document,
    check_refusal,
    ended,
    refusal,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

TOTAL = 4
USERS = ["ann", "bob", "cyd"]
GRR: Document = {
    "operator": {"kind": "grr", "alphabet": ["rest", "light"], "epsilon": 1.0},
    "budget": {"total": float(TOTAL)},
}


def feed(bootstrap: str, source: str, rounds: int) -> None:
    """Each user sends equal records, of which compaction keeps the last."""
    produce(
        bootstrap,
        source,
        [Placed(0, Record(u.encode(), b'{"zone": "rest"}')) for _ in range(rounds) for u in USERS],
    )


def set_policy(bootstrap: str, topic: str, policy: str) -> None:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"cleanup.policy": policy})
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.alter_configs([resource])


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_source_is_refused_where_the_state_is_on_disk(
    policy: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private", configs={"cleanup.policy": policy})
    document = document_with_topics(bootstrap, topics, source, partitions=1)
    pipeline = write_pipeline(tmp_path, document)
    said = refusal(pipeline)
    for words in (f"cleanup.policy is {policy}", "state: {store: kafka}", "cleanup.policy=delete"):
        assert words in said
    checked = ended(["validate", pipeline, "--kafka", "--json"])
    assert checked.returncode == 1
    assert f"cleanup.policy is {policy}" in checked.stdout
    in_kafka = copied_document(bootstrap, topics, source, partitions=1)
    checked = ended(["validate", write_pipeline(tmp_path / "kafka", in_kafka), "--kafka", "--json"])
    assert checked.returncode == 0, checked.stdout


def test_a_source_that_is_compacted_under_a_state_on_disk_stops_the_pipeline(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """It stops gracefully, so nothing is read again."""
    source = topics("private")
    document = document_with_topics(bootstrap, topics, source, partitions=1)
    with running(write_pipeline(tmp_path, document)) as process:
        feed(bootstrap, source, 2)
        sink = document["sink"]["topic"]
        process.wait_until(lambda: len(read_topic(bootstrap, sink)[0]) == 2 * len(USERS))
        set_policy(bootstrap, source, "compact")
        assert "cleanup.policy is compact" in check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    set_policy(bootstrap, source, "delete")
    with running(write_pipeline(tmp_path, document)) as process:
        feed(bootstrap, source, 1)
        process.wait_until(lambda: len(read_topic(bootstrap, sink)[0]) == 3 * len(USERS))
        assert process.stop() == 0


def test_a_compacted_source_releases_no_more_than_the_budget_where_the_state_is_in_kafka(
    make: Callable[..., House], caplog: pytest.LogCaptureFixture
) -> None:
    """A copy dies, and compaction removes what it had read and not committed."""
    house = make(1, GRR)
    feed(house.bootstrap, house.source, 1)
    copy = house.first()
    take_in(copy, len(USERS))
    copy.cut()
    feed(house.bootstrap, house.source, 8)
    take_in(copy, 9 * len(USERS))
    copy._writer.acknowledge()
    house.copies.close()
    set_policy(house.bootstrap, house.source, "compact")
    compact(house.bootstrap, house.source)
    successor = house.successor()
    take_in(successor, 9 * len(USERS))
    successor.cut()
    feed(house.bootstrap, house.source, 2 * TOTAL)
    end = successor.owned[0].position + 2 * TOTAL * len(USERS)
    take_in(successor, end)
    successor.cut()
    fresh = [one.key for one in house.released() if b"repeated" not in (one.value or b"")]
    assert Counter(fresh) == {user.encode(): TOTAL for user in USERS}
    assert "as where records of the source are gone" in caplog.text
