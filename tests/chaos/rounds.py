"""Rounds of faults over one pipeline that goes on and on, and one run of it in peace."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.chaos.copies import Copies, Store
from tests.chaos.faults import PAUSE_SECONDS, Fault, Scene, everything_running
from tests.chaos.outcome import (
    Followed,
    Wrong,
    check_equal,
    check_no_release_twice,
    check_one_content,
    count_source,
)
from tests.faults.feeding import PARTITIONS, PacedFeed, paced_feed, stream
from tests.kafka.cluster import BROKERS, Cluster
from tests.kafka.pipelines import MEMORYLESS, Document, pipeline_document, running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

PER_ROUND = 4_000
FAULTS_PER_ROUND = 2
COPIES = 2
BUDGET = 20
"""Each release costs one: users of many rounds come to the end of their budget."""
PATIENCE_SECONDS = 300
CLIENT = "librdkafka"
CHUNK = 100
AHEAD = 500
"""How many records may wait for their outcome before more are written."""


@dataclass(frozen=True)
class Plan:
    """What happens in one round: each fault when so many more records have an outcome."""

    number: int
    faults: Sequence[tuple[int, Fault]]

    def __str__(self) -> str:
        return ", ".join(f"{fault.__name__} at {at}" for at, fault in self.faults)


def plans(rounds: int, faults: Sequence[Fault], seed: int) -> Iterator[Plan]:
    """Draw what happens in each round; the same seed draws the same."""
    random = Random(seed)
    for number in range(rounds):
        chosen = [random.choice(faults) for _ in range(FAULTS_PER_ROUND)]
        part = PER_ROUND // FAULTS_PER_ROUND
        ats = [part * n + random.randrange(part) for n in range(FAULTS_PER_ROUND)]
        yield Plan(number, list(zip(ats, chosen, strict=True)))


def document(cluster: Cluster, topics: TopicFactory, source: str, store: Store) -> Document:
    """Return a pipeline over `source` with topics of its own, and budgets that come to an end."""
    made = pipeline_document(cluster.bootstrap, source, topics("sanitized", partitions=PARTITIONS))
    made["name"] = source.removeprefix("fugu-test-")
    made["kafka"]["client"] = CLIENT
    made["budget"] = {"total": BUDGET, "when_exhausted": "repeat"}
    made["sink"] |= {
        "key": "original",
        "dead_letters": topics("dead", partitions=PARTITIONS),
    }
    every = "500ms"
    made["state"] = (
        {"directory": "state", "every": every, "shards": PARTITIONS}
        if store == "disk"
        else {"store": "kafka", "every": every}
    )
    return made


class Rounds:
    """One pipeline in several copies, its feed, and everything that it has published."""

    def __init__(
        self, cluster: Cluster, folder: Path, *, store: Store, seed: int, rounds: int
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._random = Random(seed)
        self._folder = folder
        topics = TopicFactory(cluster.bootstrap, BROKERS)
        self._topics = topics
        self._source = topics("private", partitions=PARTITIONS)
        self._document = document(cluster, topics, self._source, store)
        self._stream = stream(PER_ROUND * rounds, seed=seed)
        self.restarts = self.aborted = 0

    @property
    def _sinks(self) -> list[str]:
        sink = self._document["sink"]
        return [sink["topic"], sink["dead_letters"]]

    @contextmanager
    def running(self) -> Iterator["Running"]:
        """Run the pipeline, end it gracefully, and demand what one run in peace publishes."""
        bootstrap = self._cluster.bootstrap
        path = write_pipeline(self._folder / "disturbed", self._document, MEMORYLESS)
        copies = Copies(path, self._store, COPIES)
        try:
            with (
                everything_running(self._cluster),
                closing(Followed(bootstrap, self._sinks)) as followed,
                paced_feed(bootstrap, self._document, self._stream) as feed,
            ):
                yield Running(copies, self._cluster, feed, followed, self._random, self._store)
                copies.stop()
                followed.count()
                self._check(followed)
        finally:
            self.restarts = copies.restarts
            copies.abandon()

    def _check(self, followed: Followed) -> None:
        """Compare with one process that nobody disturbs."""
        peaceful = document(self._cluster, self._topics, self._source, "disk")
        peaceful["state"]["shards"] = 1
        sinks = [peaceful["sink"]["topic"], peaceful["sink"]["dead_letters"]]
        total = sum(map(len, (r for t in followed.found.values() for r in t.values())))
        path = write_pipeline(self._folder / "undisturbed", peaceful, MEMORYLESS)
        followed_in_peace = Followed(self._cluster.bootstrap, sinks)
        with closing(followed_in_peace) as other, running(path) as process:
            process.wait_until(lambda: other.count() >= total, seconds=PATIENCE_SECONDS)
            if process.stop() != 0:
                raise Wrong(process.stderr)
            other.count()
            for mine, theirs in zip(self._sinks, sinks, strict=True):
                check_equal(followed.found[mine], other.found[theirs])
                written = read_topic(self._cluster.bootstrap, mine, "read_uncommitted")
                self.aborted += check_one_content(written)


@dataclass
class Running:
    """A pipeline in the middle of its rounds."""

    copies: Copies
    cluster: Cluster
    feed: PacedFeed
    followed: Followed
    random: Random
    store: Store

    def play(self, plan: Plan) -> None:
        """Feed the records of a round, let its faults happen, and wait for all outcomes."""
        before = self.followed.count()
        self._end = (plan.number + 1) * PER_ROUND
        scene = Scene(
            self.copies, self.cluster, self.random, PAUSE_SECONDS[self.store], self._go_on
        )
        for at, fault in plan.faults:
            self._wait(before + at)
            fault(scene)
        while self.feed.fed < self._end:
            self._advance()
        self._wait(count_source(self.cluster.bootstrap, self.feed.document["source"]["topic"]))
        for topic in self.followed.found.values():
            check_no_release_twice(topic)

    def _go_on(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._advance() >= 0 and time.monotonic() < until:
            time.sleep(0.02)

    def _wait(self, outcomes: int) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while (there := self._advance()) < outcomes:
            if time.monotonic() > until:
                raise Wrong(
                    f"{there} records have an outcome, {outcomes} should, and nothing more came in"
                    f" {PATIENCE_SECONDS} s:\n{self.copies.tails()}"
                )
            time.sleep(0.02)

    def _advance(self) -> int:
        """Look after copies and feed a little; returns how many records have an outcome."""
        self.copies.tend()
        there = self.followed.count()
        if self.feed.fed < self._end and self.feed.fed - there < AHEAD:
            self.feed.feed(min(CHUNK, self._end - self.feed.fed))
        return there
