"""Nothing stands still silently: each notice is in log, health and metrics, until it is over."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Consumer
from kafka import KafkaAdminClient

from tests.faults.feeding import document_with_topics
from tests.kafka.broker import Broker
from tests.kafka.pages import Pages
from tests.kafka.pipelines import MEMORYLESS, Document, RunningPipeline, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transactional_producer

PARTITIONS = 2
SECOND = 1_000
GROUPS = ["north", "south"]
NOTICED_SECONDS = 60.0


@dataclass(frozen=True)
class Watched:
    """A pipeline that runs, and what it shows."""

    process: RunningPipeline
    pages: Pages
    bootstrap: str
    document: Document

    @property
    def source(self) -> str:
        return str(self.document["source"]["topic"])

    def send(self, *placed: Placed) -> None:
        produce(self.bootstrap, self.source, placed)

    def health(self) -> tuple[int, dict[str, Any]]:
        status, content = self.pages.get("/healthz")
        return status, orjson.loads(content)

    def noticed(self, kind: str, text: str, *, still: bool) -> None:
        """Wait until health, metrics and log say this, which must be soon."""
        status = 503 if still else 200

        def said() -> bool:
            now, content = self.health()
            return now == status and text in str(content)

        self._soon(said)
        self._soon(lambda: self.pages.sums("fugu_notice_seconds", "kind").get(kind, 0) > 0)
        lines = [line for line in self.process.stderr.splitlines() if text in line]
        assert lines, self.process.stderr
        assert "WARNING" in lines[0]

    def over(self, kind: str) -> None:
        """Wait until nothing says it any more."""
        self._soon(self.pages.is_healthy)
        self._soon(lambda: self.pages.sums("fugu_notice_seconds", "kind")[kind] == 0)
        assert "INFO over after " in self.process.stderr

    def _soon(self, reached: Callable[[], bool]) -> None:
        self.process.wait_until(reached, seconds=NOTICED_SECONDS)


@contextmanager
def watched(bootstrap: str, document: Document, directory: Path) -> Iterator[Watched]:
    """Run a pipeline until it is healthy."""
    port = free_ports(1)
    pages = Pages(port)
    path = write_pipeline(directory, document | {"metrics": {"port": port}}, MEMORYLESS)
    with running(path) as process:
        process.wait_until(pages.is_healthy)
        yield Watched(process, pages, bootstrap, document)


@pytest.fixture
def document(bootstrap: str, topics: TopicFactory) -> Document:
    """A pipeline of single records."""
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    document["state"]["every"] = "200ms"
    return document


@pytest.fixture
def aggregate(document: Document, topics: TopicFactory) -> Document:
    """A pipeline of figures, whose stream time goes by heartbeats."""
    document["source"]["timestamp"] = {"field": "at", "format": "epoch-ms"}
    document["operator"] = {
        "kind": "budget_distribution",
        "epsilon": 1.0,
        "window": 4,
        "groups": GROUPS,
        "ticks": {
            "width": "1s",
            "grace": "200ms",
            "stream_time": {"heartbeats": ["clock-0", "clock-1"]},
        },
    }
    document["sink"] = {
        "topic": topics("figures"),
        "dead_letters": document["sink"]["dead_letters"],
        "partials": topics("partials"),
    }
    return document


def beat(partition: int, at: int, *, written: int = NOW) -> Placed:
    """A heartbeat of a partition, that Kafka has with the time of `written`."""
    value = orjson.dumps({"zone": GROUPS[0], "at": at})
    return Placed(partition, Record(b"clock-%d" % partition, value, timestamp=written))


def now() -> int:
    return time.time_ns() // 1_000_000


def test_figures_that_wait_for_an_empty_partition(
    bootstrap: str, aggregate: Document, tmp_path: Path
) -> None:
    with watched(bootstrap, aggregate, tmp_path) as one:
        begin = now() // SECOND * SECOND
        one.send(*[beat(0, begin + SECOND * tick) for tick in range(4)])
        text = f"figures wait for partition 1 of {one.source}, which has told no tick yet"
        one.noticed("figures_wait", text, still=True)
        one.send(*[beat(1, begin + SECOND * tick) for tick in range(4)])
        one.over("figures_wait")


@pytest.mark.acceptance
def test_values_that_wait_for_their_tick_to_close(
    bootstrap: str, aggregate: Document, document: Document, topics: TopicFactory, tmp_path: Path
) -> None:
    document["source"] |= {"value": "bpm", "timestamp": aggregate["source"]["timestamp"]}
    document["sink"] = {"topic": topics("series", partitions=PARTITIONS), "create": True}
    document["operator"] = {
        "kind": "real_time_local",
        "lower": 40,
        "upper": 180,
        "epsilon": 8.0,
        "delta": 1e-6,
        "horizon": 8,
        "ticks": aggregate["operator"]["ticks"],
    }
    with watched(bootstrap, document, tmp_path) as one:
        begin = now() // SECOND * SECOND
        value = orjson.dumps({"bpm": 80, "at": begin + 100})
        one.send(beat(0, begin), Placed(0, Record(b"user-0", value)))
        text = f"topic {one.source}, partition 0: values wait for later records; nobody has sent"
        one.noticed("ticks_wait", text, still=True)
        one.send(beat(0, begin + 3 * SECOND))
        one.over("ticks_wait")


def test_stream_time_a_year_ahead(bootstrap: str, aggregate: Document, tmp_path: Path) -> None:
    with watched(bootstrap, aggregate, tmp_path) as one:
        assert f"topic {one.source} takes records with any timestamp" in one.process.stderr
        year = now() + 365 * 86_400 * SECOND
        one.send(*[beat(partition, year, written=year) for partition in range(PARTITIONS)])
        one.noticed("time_ahead", "stream time is 365 days ahead of this machine's", still=False)


def test_a_clock_a_year_ahead_of_that_of_kafka_moves_no_time(
    bootstrap: str, aggregate: Document, tmp_path: Path
) -> None:
    with watched(bootstrap, aggregate, tmp_path) as one:
        begin = now() // SECOND * SECOND
        parts = range(PARTITIONS)
        one.send(*[beat(partition, begin + 365 * 86_400 * SECOND) for partition in parts])
        one.send(
            *[beat(partition, begin + SECOND * tick) for tick in range(4) for partition in parts]
        )
        one.noticed("clock_ahead", "partition 0: 1 records since the start had times", still=False)
        figures = str(one.document["sink"]["topic"])
        one.process.wait_until(lambda: len(read_topic(bootstrap, figures)[0]) > 0)
        dead = read_topic(bootstrap, str(one.document["sink"]["dead_letters"]))
        assert [b"too_far_ahead" in (record.value or b"") for record in dead[0] + dead[1]] == [
            True
        ] * PARTITIONS


def test_times_in_seconds_where_milliseconds_are_read(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    document["source"]["timestamp"] = {"field": "at", "format": "epoch-ms"}

    def records(unit: int) -> list[Placed]:
        value = orjson.dumps({"zone": "rest", "at": now() // unit})
        return [Placed(0, Record(b"user-0", value))] * 30

    with watched(bootstrap, document, tmp_path) as one:
        one.send(*records(SECOND))
        text = "Look at field at: it looks like seconds; write source.timestamp.format: epoch-s"
        one.noticed("time_unit", text, still=False)
        one.send(*records(1), *records(1))
        one.over("time_unit")


def test_a_share_of_refused_records(bootstrap: str, document: Document, tmp_path: Path) -> None:
    good = [Placed(n % 2, Record(b"user-%d" % (n % 2), b'{"zone": "rest"}')) for n in range(1_500)]
    bad = [Placed(0, Record(b"user-0", b'{"zone": "nowhere"}'))] * 300
    with watched(bootstrap, document, tmp_path) as one:
        one.send(*good, *bad)
        text = "records were refused, most as outside_domain: "
        one.noticed("refused", text, still=False)
        one.send(*good)
        one.over("refused")


def test_streams_without_a_budget(bootstrap: str, document: Document, tmp_path: Path) -> None:
    document["budget"] = {"total": 2.0}

    def records(first: int, users: int) -> list[Placed]:
        value = b'{"zone": "rest"}'
        return [Placed(n % 2, Record(b"user-%d" % n, value)) for n in range(first, first + users)]

    with watched(bootstrap, document, tmp_path) as one:
        one.send(*records(0, 100) * 2)
        text = "100 of 100 streams have spent nine tenths of their budget or more; when nothing is"
        one.noticed("budgets_nearly_spent", text, still=False)
        one.send(*records(0, 100))
        text = "100 of 100 streams have no budget left: their last release is repeated"
        one.noticed("budgets_spent", text, still=False)
        one.send(*records(100, 900))
        one.over("budgets_spent")
        counts = one.pages.sums("fugu_streams_by_budget", "spent")
        assert {spent: count for spent, count in counts.items() if count} == {
            "4": 900,
            "exhausted": 100,
        }


def test_partitions_that_are_added(bootstrap: str, document: Document, tmp_path: Path) -> None:
    document["source"]["partitioner"] = "murmur2"
    with watched(bootstrap, document, tmp_path) as one:
        with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            admin.create_partitions({one.source: PARTITIONS + 2})
        text = f"topic {one.source} has 4 partitions, and this pipeline knows 2"
        one.noticed("partitions_added", text, still=False)
        assert "run fugu state repartition" in one.process.stderr


@pytest.mark.acceptance
def test_records_behind_an_open_transaction(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    with (
        watched(bootstrap, document, tmp_path) as one,
        transactional_producer(bootstrap) as producer,
    ):
        one.send(Placed(0, Record(b"user-0", b'{"zone": "rest"}')))
        producer.begin_transaction()
        producer.send(one.source, b'{"zone": "rest"}', b"user-0", partition=0)
        producer.flush()
        text = "partition 0: records wait behind an open transaction of another producer"
        one.noticed("open_transaction", text, still=True)
        producer.commit_transaction()
        one.over("open_transaction")


def test_a_broker_that_is_away(broker: Broker, topics: TopicFactory, tmp_path: Path) -> None:
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(broker.bootstrap, topics, source, partitions=PARTITIONS)
    with watched(broker.bootstrap, document, tmp_path) as one:
        broker.stop()
        one.noticed("kafka_away", "Kafka has not answered for 1", still=True)
        broker.start()
        one.over("kafka_away")


@pytest.mark.acceptance
@pytest.mark.parametrize("group", ["", ".by-user"])
def test_a_partition_that_a_group_gives_to_somebody_else(
    group: str, bootstrap: str, document: Document, tmp_path: Path
) -> None:
    """As by kafka-console-consumer --group fugu.NAME."""
    document["name"] = str(document["source"]["topic"]).removeprefix("fugu-test-")
    document["sink"]["create"] = True
    document["kafka"] |= {"client": "librdkafka"}
    if group:
        document["source"].pop("partitioner", None)
        document["source"]["key"] = {"field": "user", "repartition": True}
    else:
        document["state"] = {"store": "kafka", "every": "200ms"}
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"fugu.{document['name']}{group}",
        "client.id": "console-consumer",
        "partition.assignment.strategy": "cooperative-sticky",
        "enable.auto.commit": False,
    }
    with watched(bootstrap, document, tmp_path) as one:
        consumer = Consumer(settings)
        consumer.subscribe([one.source])

        def taken() -> bool:
            consumer.poll(0.1)
            return len(consumer.assignment()) == 1

        one.process.wait_until(taken)
        [taken_away] = consumer.assignment()
        one.send(Placed(taken_away.partition, Record(b"user-0", b'{"zone": "rest"}')))
        text = f"partition {taken_away.partition}: for 1"
        one.noticed("group_waits", f"topic {one.source}, {text}", still=True)
        assert "given it to console-consumer at 127.0.0.1" in one.process.stderr
        one.process.wait_until(lambda: one.pages.sums("fugu_lag_records").get(one.source) == 1)
        consumer.close()
        one.over("group_waits")
        one.process.wait_until(lambda: one.pages.sums("fugu_lag_records").get(one.source) == 0)
