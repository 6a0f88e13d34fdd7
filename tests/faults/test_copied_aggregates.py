"""Copies that bound and copies that merge are killed, and figures are those of one run on disk."""

import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from fugu.dataflows.base.errors import FuguError, ReleaseMismatch, StartRefused
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.native.settings import MEMBER
from tests.faults.copies import Copies, named, step
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import aggregate_document
from tests.faults.outcomes import Topic
from tests.faults.test_aggregate_crashes import OPERATOR, ZONES, trips
from tests.kafka.pipelines import (
    PATIENCE_SECONDS,
    SECRET,
    SECRET_VARIABLE,
    Document,
    fugu,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, TICKS = 60, 24
KILLS = 6
OWNERS = PARTITIONS + 1
"""All partitions of the source, and the internal log."""
POINTS = {"a figure made, not written": 4, "positions sent, no commit": 6}
"""Points of `killed_inside`, and at which of their occurrences."""
INSIDE = [sys.executable, "-m", "tests.faults.killed_inside"]


@dataclass
class City:
    """One pipeline twice, on disk and in Kafka, over trips that come in parts."""

    bootstrap: str
    copied: Document
    on_disk: Document
    parts: list[list[Placed]]
    late: int

    @classmethod
    def of(cls, bootstrap: str, topics: TopicFactory, parts: int) -> "City":
        placed, late = trips(USERS, TICKS)
        source = topics("source", partitions=PARTITIONS)
        name = source.removeprefix("fugu-test-")
        on_disk, copied = (
            aggregate_document(bootstrap, topics, source, OPERATOR) | {"name": name}
            for _ in range(2)
        )
        on_disk["state"] = {"directory": "state", "every": "200ms"}
        copied["kafka"] = copied["kafka"] | {"client": "librdkafka"}
        copied["state"] = {"store": "kafka", "every": "100ms", "topic": f"{name}.state"}
        copied["sink"] |= {"create": True}
        ends = [part * len(placed) // parts for part in range(parts + 1)]
        in_parts = [placed[begin:end] for begin, end in pairwise(ends)]
        return cls(bootstrap, copied, on_disk, in_parts, late)

    def produce(self, part: int) -> None:
        produce(self.bootstrap, self.copied["source"]["topic"], self.parts[part])

    def read(self, document: Document, topic: str, level: str = "read_committed") -> Topic:
        return read_topic(self.bootstrap, document["sink"][topic], level)

    def is_done(self) -> bool:
        """Whether all is there, on both sides; a first tick may be one to which nobody came."""
        here, there = map(self._counts, (self.copied, self.on_disk))
        figures, refused, partials = here
        enough = figures >= (TICKS - 1) * len(ZONES) and partials >= (TICKS - 1) * PARTITIONS
        return here == there and enough and refused == self.late

    def _counts(self, document: Document) -> list[int]:
        topics = ("topic", "dead_letters", "partials")
        return [sum(map(len, self.read(document, topic).values())) for topic in topics]

    def require_one_run(self) -> None:
        """Figures, dead letters and partial sums are those of the disk store, once each."""
        for topic in ("topic", "dead_letters"):
            assert self.read(self.copied, topic) == self.read(self.on_disk, topic)
        [here], [there] = (
            [self.read(document, "partials")[0]] for document in (self.copied, self.on_disk)
        )
        assert sorted((r.key, r.value) for r in here) == sorted((r.key, r.value) for r in there)
        for topic in ("topic", "partials"):
            seen = self.read(self.copied, topic, "read_uncommitted")
            committed = self.read(self.copied, topic)
            assert {p: set(records) for p, records in seen.items()} == {
                p: set(records) for p, records in committed.items()
            }, "an aborted record was drawn a second time"


class Led(Copies):
    """Copies that bound, and copies that merge, which a test leads and kills."""

    def __init__(self, pipeline: Path, random: Random) -> None:
        super().__init__(pipeline)
        self.random, self.names = random, iter(range(1_000))
        self.deaths = 0

    def add(self, merges: bool) -> None:
        name = f"copy-{next(self.names)}"
        if merges:
            self.join_merge(name)
        else:
            self.join(name)

    def lead(self, cuts: float) -> None:
        """Let each do one step, and now and then a cut; what fails begins again."""
        for copy in [*self.running]:
            try:
                step(copy)
                if self.random.random() < cuts:
                    copy.cut()
            except (StartRefused, ReleaseMismatch):
                raise
            except FuguError:
                self.replace(copy)

    def until(self, reached: Callable[[], bool], cuts: float) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not reached():
            assert time.monotonic() < deadline, "nothing happened"
            self.lead(cuts)
            time.sleep(0.002)

    def are_all_owned(self) -> bool:
        return sum(len(copy.owned) for copy in self.running) == OWNERS

    def kill(self, copy: Copy) -> None:
        """End one between two steps, or with a batch in its hands; nothing more is committed."""
        if self.random.random() < 0.5:
            copy.next_batch()
        self.deaths += 1
        self.replace(copy)

    def replace(self, copy: Copy) -> None:
        self.running.remove(copy)
        copy.close()
        self.add(not copy.plan.reads_source)


@pytest.fixture
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    monkeypatch.setitem(MEMBER, "heartbeat.interval.ms", 300)


@pytest.mark.slow
@pytest.mark.usefixtures("_in_process")
def test_copies_that_die_at_random_points_leave_the_figures_of_one_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    city = City.of(bootstrap, topics, parts=KILLS + 1)
    copies, random = Led(write_pipeline(tmp_path / "copied", city.copied), Random(26)), Random(27)
    with running(write_pipeline(tmp_path / "disk", city.on_disk)) as alone, closing(copies):
        for merges in (False, True, False, True):
            copies.add(merges)
        for part in range(KILLS):
            city.produce(part)
            copies.until(copies.are_all_owned, cuts=0.05)
            for _ in range(random.randrange(10, 60)):
                copies.lead(cuts=0.05)
            owners = [copy for copy in copies.running if copy.owned]
            wanted = [one for one in owners if one.plan.reads_source == bool(part % 2)]
            copies.kill(random.choice(wanted))
        city.produce(KILLS)
        copies.until(copies.are_all_owned, cuts=0.05)
        copies.until(lambda: random.random() < 0.02 and city.is_done(), cuts=0.2)
        assert copies.deaths == KILLS
        assert copies.planned.state.topic.partitions == OWNERS
        assert alone.stop() == 0, alone.stderr
    city.require_one_run()


@pytest.mark.slow
def test_processes_killed_in_a_merge_and_in_a_cut_leave_the_figures_of_one_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    city = City.of(bootstrap, topics, parts=3)
    here = write_pipeline(tmp_path / "copied", city.copied)
    checked = fugu("validate", here, "--kafka")
    assert "begins a state in topic" in " ".join(checked.split())
    with running(write_pipeline(tmp_path / "disk", city.on_disk)) as alone:
        for part, (point, occurrence) in enumerate(POINTS.items()):
            city.produce(part)
            with named("pod"), running(here, command=[*INSIDE, point, str(occurrence)]) as doomed:
                assert doomed.exit_code() == -signal.SIGKILL, doomed.stderr
        city.produce(len(POINTS))
        with named("pod"), running(here) as first, running(here, "--processes", "2") as others:
            first.wait_until(city.is_done)
            assert [first.stop(), others.stop()] == [0, 0], first.stderr + others.stderr
        assert alone.stop() == 0, alone.stderr
    city.require_one_run()


@pytest.mark.slow
@pytest.mark.usefixtures("_in_process")
def test_a_partition_is_taken_over_while_another_copy_writes_to_the_internal_log(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Where partial sums end for readers is then before what the state goes on from."""
    city = City.of(bootstrap, topics, parts=2)
    copies = Led(write_pipeline(tmp_path, city.copied), Random(28))
    log = city.copied["sink"]["partials"]
    with closing(copies):
        copies.add(merges=False)
        other = copies.planned.client.copy_writer("fugu-test-other", 60_000)
        with closing(other):
            other.put(log, 0, [(b"other", b"")])
            other.acknowledge()
            city.produce(0)
            [copy] = copies.running
            copies.until(lambda: len(copy.owned) == PARTITIONS, cuts=0.0)
            copies.until(lambda: copy.owned[0].accounts[0].published > 0, cuts=0.0)
            copy.cut()
            copies.kill(copy)
            [copy] = copies.running
            copies.until(lambda: len(copy.owned) == PARTITIONS, cuts=0.0)
            assert not city.read(city.copied, "partials")[0]
            other.abandon()
        assert city.read(city.copied, "partials")[0]


@pytest.mark.slow
@pytest.mark.usefixtures("_in_process")
def test_partial_sums_that_a_dead_copy_left_open_hold_up_nobody_once_it_has_a_successor(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    city = City.of(bootstrap, topics, parts=2)
    copies = Led(write_pipeline(tmp_path, city.copied), Random(29))
    log = city.copied["sink"]["partials"]
    with closing(copies):
        copies.add(merges=False)
        [dead] = copies.running
        copies.until(lambda: len(dead.owned) == PARTITIONS, cuts=0.0)
        dead.cut()
        city.produce(0)
        copies.until(lambda: dead.owned[0].accounts[0].published > 0, cuts=0.0)
        dead._writer.acknowledge()
        dead.owned.clear()
        dead._member.close()
        copies.running.clear()
        copies.add(merges=False)
        [heir] = copies.running
        copies.until(lambda: len(heir.owned) == PARTITIONS, cuts=0.0)
        ends = [
            reader_end(copies.planned.client, log, committed=committed)
            for committed in (True, False)
        ]
        assert ends[0] == ends[1] > 0
        heir.plan.stop.request()
        with pytest.raises(StopIteration):
            heir.next_batch()
        copies.running.clear()
        with closing(copies.planned.client.copy_writer("fugu-test-other", 60_000)) as other:
            other.put(log, 0, [(b"other", b"")])
            other.acknowledge()
            copies.add(merges=False)
            [third] = copies.running
            copies.until(lambda: len(third.owned) == PARTITIONS, cuts=0.0)
        assert not third._takeover.predecessors.shut_out, (
            "what was given up properly has nothing open"
        )


def reader_end(client: Client, topic: str, *, committed: bool) -> int:
    """Where a topic of one partition ends, with or without what is not committed."""
    with closing(client.reader(topic, committed=committed)) as reader:
        return reader.bounds([0])[0].end
