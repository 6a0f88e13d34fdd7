"""A broker that goes away for a while costs time, and nothing else."""

import signal
import time
from pathlib import Path

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.broker import Broker
from tests.kafka.pipelines import running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 60_000
PACED = 4_000
OUTAGE_SECONDS = 5


def test_a_pipeline_survives_a_broker_that_stops_and_starts_again_under_load(
    broker: Broker, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=5)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(broker.bootstrap, topics, source)

    with running(write_pipeline(tmp_path, document)) as process:
        with paced_feed(broker.bootstrap, document, private) as feed:
            process.wait_until(lambda: feed.advance() >= PACED)
            process.process.send_signal(signal.SIGSTOP)  # or it would keep up with the feed
            feed.feed(RECORDS)
            process.process.send_signal(signal.SIGCONT)
            process.wait_until(lambda: feed.published() >= PACED + 1_000)
            assert feed.published() < RECORDS - 5_000, "stopped under load"
        broker.stop()
        time.sleep(OUTAGE_SECONDS)
        assert process.process.poll() is None, process.stderr
        broker.start()
        with paced_feed(broker.bootstrap, document, private, fed=RECORDS) as watch:
            process.wait_until(lambda: watch.published() >= RECORDS, seconds=60)
        assert process.stop() == 0, process.stderr

    check_one_outcome_each(private, *published(broker.bootstrap, document))
    assert "Traceback" not in process.stderr
