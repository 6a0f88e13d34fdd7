"""What a process wrote by user when it died holds up nobody once its partitions are others'."""

from contextlib import closing
from pathlib import Path

import pytest

from fugu.dataflows.copies.instance import transactional_id
from tests.faults.copies import Copies
from tests.kafka.pipelines import write_pipeline
from tests.kafka.test_users_in_fields import document_of
from tests.kafka.topics import TopicFactory

PARTITIONS = 2


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_records_that_a_dead_process_left_open_hold_up_nobody_once_it_has_a_successor(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Kafka would abort them after a minute. Who writes by user and lives is left alone."""
    source = topics("left-open", partitions=PARTITIONS)
    document = document_of(bootstrap, source, "kafka", repartition=True)
    copies = Copies(write_pipeline(tmp_path, document))
    with closing(copies):
        plan, client = copies.planned.plan, copies.planned.client
        by_user = plan.fingerprint.source_topic
        first = copies.join("first")
        copies.settle(PARTITIONS)
        dead, living = (
            client.copy_writer(f"{transactional_id(plan.name, name)}/by-user", 60_000)
            for name in ("first", "second")
        )
        with closing(dead), closing(living):
            dead.put(by_user, 1, [(b"0/0", b"{}")])
            dead.acknowledge()
            first.close()
            copies.running.clear()
            copies.join("heir")
            copies.settle(PARTITIONS)
            with (
                closing(client.reader(by_user)) as committed,
                closing(client.reader(by_user, committed=False)) as written,
            ):
                every = [*range(PARTITIONS)]
                assert written.bounds(every)[1].end > 0
                assert committed.bounds(every) == written.bounds(every)
            living.put(by_user, 0, [(b"0/1", b"{}")])
            living.acknowledge()
            living.commit()
