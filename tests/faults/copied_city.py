"""An aggregate whose state is in Kafka: its records, its copies, and what must come out."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from fugu.dataflows.base.errors import FuguError, ReleaseMismatch, StartRefused
from fugu.dataflows.copies.copy import Copy
from tests.faults.copies import Copies, in_kafka, name_of, step
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, aggregate_document
from tests.faults.outcomes import Topic
from tests.faults.test_aggregate_crashes import OPERATOR, ZONES, trips
from tests.kafka.pipelines import PATIENCE_SECONDS, Document
from tests.kafka.records import Placed, Record, produce, read_settled, read_topic
from tests.kafka.topics import TopicFactory

USERS, TICKS = 60, 24
log = logging.getLogger(__name__)
OWNERS = PARTITIONS + 1
"""All partitions of the source, and the internal log."""


@dataclass
class City:
    """One pipeline twice, on disk and in Kafka, over records that come in parts."""

    bootstrap: str
    copied: Document
    on_disk: Document
    parts: list[list[Placed]]
    whole: Whole

    @classmethod
    def moving(cls, bootstrap: str, topics: TopicFactory, parts: int, ticks: int = TICKS) -> "City":
        """Everybody moves about, some records come too late; nobody may be in the first tick."""
        placed, late = trips(USERS, ticks)
        whole = Whole((ticks - 1) * len(ZONES), late, (ticks - 1) * PARTITIONS)
        return cls.of(bootstrap, topics, placed, OPERATOR, whole, parts)

    @classmethod
    def of(
        cls,
        bootstrap: str,
        topics: TopicFactory,
        placed: Sequence[Placed],
        operator: Mapping[str, Any],
        whole: Whole,
        parts: int,
    ) -> "City":
        source = topics("source", partitions=PARTITIONS)
        on_disk, other = (
            aggregate_document(bootstrap, topics, source, operator) | {"name": name_of(source)}
            for _ in range(2)
        )
        on_disk["state"] = {"directory": "state", "every": "200ms"}
        copied = in_kafka(other, every="100ms")
        ends = [part * len(placed) // parts for part in range(parts + 1)]
        in_parts = [[*placed[begin:end]] for begin, end in pairwise(ends)]
        return cls(bootstrap, copied, on_disk, in_parts, whole)

    def produce(self, part: int) -> None:
        produce(self.bootstrap, self.copied["source"]["topic"], self.parts[part])

    def read(self, document: Document, topic: str, level: str = "read_committed") -> Topic:
        return read_topic(self.bootstrap, document["sink"][topic], level)

    def counted(self, topic: str) -> list[Record]:
        """Return what counts in a topic of one partition, once nothing of it is open any more."""
        return read_settled(self.bootstrap, self.copied["sink"][topic])[0]

    def is_done(self) -> bool:
        """Return whether all is there, on both sides."""
        here, there = map(self._counts, (self.copied, self.on_disk))
        whole = self.whole
        enough = here[0] >= whole.released and here[2] >= whole.partials
        return here == there and enough and here[1] == whole.refused

    def _counts(self, document: Document) -> list[int]:
        return [self.count(topic, document) for topic in ("topic", "dead_letters", "partials")]

    def count(self, topic: str, document: Document | None = None) -> int:
        """Return how many records a topic of the copied pipeline has."""
        return sum(map(len, self.read(document or self.copied, topic).values()))

    def require_one_run(self) -> None:
        """Figures, dead letters and partial sums are those of the disk store, once each."""
        for topic in ("topic", "dead_letters"):
            assert self.read(self.copied, topic) == self.read(self.on_disk, topic)
        here, there = (
            sorted((r.key or b"", r.value or b"") for r in self.read(document, "partials")[0])
            for document in (self.copied, self.on_disk)
        )
        assert here == there
        self.require_one_draw_each()

    def require_one_draw_each(self) -> None:
        """Readers who do not wait for commits never see two figures, or sums, of one truth."""
        for topic in ("topic", "partials"):
            committed = self.read(self.copied, topic)[0]
            assert len(committed) == len(set(committed))
            seen = self.read(self.copied, topic, "read_uncommitted")[0]
            assert {one for one in seen if one.headers} == set(committed)


class Led(Copies):
    """Copies that bound, and copies that merge, which a test leads and kills."""

    def __init__(self, pipeline: Path, random: Random) -> None:
        super().__init__(pipeline)
        self.random, self.names = random, iter(range(1_000))
        self.deaths = 0

    def add(self, *, merges: bool) -> Copy:
        """One more copy; every second one follows what others own."""
        number = next(self.names)
        name = f"copy-{number}"
        copy = self.join_merge(name) if merges else self.join(name)
        copy._takeover.standby = "all" if number // 2 % 2 else "none"
        return copy

    def lead(self, cuts: float) -> None:
        """Let each do one step, and now and then a cut; what fails begins again."""
        for copy in [*self.running]:
            try:
                step(copy)
                if self.random.random() < cuts:
                    copy.cut()
            except (StartRefused, ReleaseMismatch):
                raise
            except FuguError as error:
                log.warning("%s begins again: %s", copy.settings.instance, error)
                self.replace(copy)

    def until(self, reached: Callable[[], bool], cuts: float = 0.0) -> None:
        """Lead until this is reached. A busy machine may take its time, but something must be read
        that never was before."""
        farthest, moved_at = self.positions, time.monotonic()
        while not reached():
            self.lead(cuts)
            time.sleep(0.002)
            new = {one: at for one, at in self.positions.items() if at > farthest.get(one, -1)}
            if new:
                farthest, moved_at = farthest | new, time.monotonic()
            waited = time.monotonic() - moved_at
            assert waited < PATIENCE_SECONDS, f"nothing moved: {self.standing}, at {farthest}"

    @property
    def positions(self) -> dict[tuple[str, int], int]:
        """Return how far everything is read that a copy owns."""
        return {
            (copy.plan.fingerprint.source_topic, partition): owned.position
            for copy in self.running
            for partition, owned in copy.owned.items()
        }

    def are_all_owned(self) -> bool:
        return sum(len(copy.owned) for copy in self.running) == OWNERS

    @property
    def standing(self) -> dict[str, tuple[list[int], int]]:
        """Return what every copy owns, and the generation of its group."""
        return {
            copy.settings.instance: ([*copy.owned], copy._member.metadata().generation)
            for copy in self.running
        }

    def kill(self, copy: Copy) -> None:
        """End one between two steps, or with a batch in its hands; nothing more is committed."""
        if self.random.random() < 0.5:
            copy.next_batch()
        self.deaths += 1
        self.replace(copy)

    def replace(self, copy: Copy) -> None:
        self.running.remove(copy)
        copy.close()
        self.add(merges=not copy.plan.reads_source)

    def take_in(self, placed: Sequence[Placed], bounder: Copy) -> None:
        """Let one that bounds read these first records of the source, and commit."""
        ends = Counter(one.partition for one in placed)
        self.until(
            lambda: all(
                partition in bounder.owned and bounder.owned[partition].position >= end
                for partition, end in ends.items()
            )
        )
        bounder.cut()
