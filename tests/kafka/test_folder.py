"""Pipelines of a folder on one Kafka: what happens to one, happens to no other."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
import yaml
from kafka import KafkaAdminClient

from tests.kafka.pages import Pages
from tests.kafka.pipelines import (
    MODEL,
    Document,
    RunningPipeline,
    fugu,
    pipeline_document,
    running,
)
from tests.kafka.ports import free_ports
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

RECORDS = 5


@dataclass
class Tenant:
    """One pipeline of a folder."""

    bootstrap: str
    folder: Path
    name: str
    source: str
    document: Document = field(init=False)
    pages: Pages = field(init=False)

    def __post_init__(self) -> None:
        port = free_ports(1)
        self.pages = Pages(port)
        sink = f"{self.source}.sanitized"
        self.document = pipeline_document(self.bootstrap, self.source, sink) | {
            "name": self.name,
            "metrics": {"port": port},
        }
        self.document["state"] |= {"directory": f"states/{self.name}"}
        self.document["kafka"] |= {"client": "librdkafka"}

    @property
    def file(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    def write(self) -> None:
        self.file.write_text(yaml.safe_dump(self.document, sort_keys=False))

    def feed(self) -> None:
        record = Placed(0, Record(b"user", b'{"zone":"light"}'))
        produce(self.bootstrap, self.source, [record] * RECORDS)

    def create_source(self) -> None:
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics({self.source: {"num_partitions": 1, "replication_factor": 1}})

    def releases(self, count: int) -> Callable[[], bool]:
        """Return a check whether its own endpoint counts so many releases."""

        def reached() -> bool:
            try:
                return sum(self.pages.sums("fugu_records_out_total").values()) == count
            except ConnectionError:
                return False

        return reached

    def counts_its_own(self) -> bool:
        """Return whether its endpoint counts records, and of no other pipeline."""
        return set(self.pages.sums("fugu_records_in_total", "pipeline")) == {self.name}

    def publishes(self, count: int) -> Callable[[], bool]:
        """Return a check whether its topic holds so many releases."""
        return lambda: self.published() == count

    def published(self) -> int:
        return len(read_topic(self.bootstrap, f"{self.source}.sanitized")[0])


@contextmanager
def folder_of(folder: Path, *tenants: Tenant) -> Iterator[RunningPipeline]:
    folder.mkdir()
    (folder / "model.json").write_bytes(orjson.dumps(MODEL))
    for tenant in tenants:
        tenant.write()
    with running(folder) as process:
        yield process


@pytest.mark.slow
def test_one_that_lacks_its_topic_dies_or_is_changed_wrongly_leaves_others_alone(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    folder, unique = tmp_path / "pipelines", uuid4().hex[:8]
    steady = Tenant(bootstrap, folder, f"steady-{unique}", topics("steady"))
    late = Tenant(bootstrap, folder, f"late-{unique}", f"fugu-test-late-{unique}")
    added = Tenant(bootstrap, folder, f"added-{unique}", topics("added"))
    added.document["state"] = {"store": "kafka", "every": "200ms"}
    with folder_of(folder, steady, late) as process:
        process.wait_until(lambda: f"topic {late.source} (source.topic) does not" in process.stderr)
        steady.feed()
        process.wait_until(steady.releases(RECORDS))
        assert steady.pages.is_healthy()
        assert late.pages.get("/healthz")[0] == 503

        late.create_source()
        late.feed()
        process.wait_until(late.releases(RECORDS))
        os.kill(process_id(process, late), signal.SIGKILL)
        process.wait_until(lambda: process.stderr.count("ended by itself (signal 9)") == 1)

        added.write()
        steady.document["state"]["every"] = "300ms"
        steady.write()
        late.document["operator"]["epsilon"] = 2.0
        late.write()
        process.process.send_signal(signal.SIGHUP)
        added.feed()
        process.wait_until(added.releases(RECORDS))
        process.wait_until(lambda: "law changed" in process.stderr)
        [refusal] = [one for one in process.stderr.splitlines() if f"{late.name}.yaml: " in one]
        assert "refusing to start: law changed: epsilon" in refusal
        assert "It goes on as before." in process.stderr
        assert "state every 0.3 s" in process.stderr
        for tenant in (steady, late):
            tenant.feed()
            process.wait_until(tenant.publishes(2 * RECORDS))

        every = (steady, late, added)
        for tenant in every:
            process.wait_until(tenant.pages.is_healthy)
            process.wait_until(tenant.counts_its_own)
        shown = fugu(
            "top", *(tenant.file for tenant in every), "--once", "--json", "--every", "0.2"
        )
        status = {one["pipeline"]: one["status"] for one in orjson.loads(shown)["pipelines"]}
        assert status == {tenant.name: "ok" for tenant in every}
        group = f"fugu.{added.name}"
        with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            members = admin.describe_groups([group])[group]["members"]
        assert [member["client_id"] for member in members] == [group]
        assert process.stop() == 0, process.stderr
    assert "all pipelines have stopped" in process.stderr
    assert {path.name for path in (folder / "states").iterdir()} == {steady.name, late.name}
    assert [tenant.published() for tenant in every] == [2 * RECORDS, 2 * RECORDS, RECORDS]


def process_id(process: RunningPipeline, tenant: Tenant) -> int:
    """The newest process of one pipeline."""
    started = rf"process \d+ \({tenant.name}\): started, process id (\d+)"
    return int(re.findall(started, process.stderr)[-1])
