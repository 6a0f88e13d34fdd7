"""Rounds of faults over one pipeline that goes on and on, and one run of it in peace."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import orjson

from tests.chaos.copies import Copies, Store
from tests.chaos.faults import Fault, Scene, everything_running
from tests.chaos.loads import Load
from tests.chaos.outcome import (
    Followed,
    Tally,
    Topic,
    Wrong,
    check_equal,
    check_no_release_twice,
    check_one_content,
    check_same_entries,
    tally,
)
from tests.faults.feeding import PARTITIONS, PacedFeed, paced_feed
from tests.kafka.broker import Broker
from tests.kafka.cluster import Cluster
from tests.kafka.pipelines import MEMORYLESS, Document, fugu, running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

FAULTS_PER_ROUND = 1
COPIES = 2
PATIENCE_SECONDS = 300
CLIENT = "librdkafka"
EVERY = "200ms"
CHUNK = 100


@dataclass(frozen=True)
class Plan:
    """Plan one round: each fault comes when so many more records have an outcome."""

    number: int
    faults: Sequence[tuple[int, Fault]]

    def __str__(self) -> str:
        return ", ".join(f"{fault.__name__} at {at}" for at, fault in self.faults)


def plans(
    rounds: int, faults: Sequence[Fault], seed: int, per_round: int, each: int = FAULTS_PER_ROUND
) -> Iterator[Plan]:
    """Draw what happens in each round, of so many records; the same seed draws the same."""
    random = Random(seed)
    part = per_round // each
    for number in range(rounds):
        chosen = [random.choice(faults) for _ in range(each)]
        ats = [part * n + random.randrange(part) for n in range(each)]
        yield Plan(number, list(zip(ats, chosen, strict=True)))


class Rounds:
    """One pipeline in several copies, its feed, and everything that it has published."""

    def __init__(
        self, kafka: Broker | Cluster, folder: Path, load: Load, *, store: Store, seed: int
    ) -> None:
        self._kafka, self._load, self._store = kafka, load, store
        self._brokers = kafka if isinstance(kafka, Cluster) else None
        self._random = Random(seed)
        self._folder = folder
        self._topics = TopicFactory(kafka.bootstrap, kafka.replicas)
        self._source = self._topics("private", partitions=PARTITIONS)
        self._document = self._made()
        self.restarts = self.aborted = self.released = 0
        self.tally = Tally()

    def _made(self) -> Document:
        """Return the pipeline, with topics of its own."""
        made = self._load.document(self._kafka.bootstrap, self._topics, self._source)
        made["kafka"]["client"] = CLIENT
        return made

    @contextmanager
    def running(self) -> Iterator["Running"]:
        """Run the pipeline, end it gracefully, and demand what one run in peace publishes."""
        bootstrap = self._kafka.bootstrap
        files = self._files()
        copies = Copies(files, self._store, COPIES)
        try:
            with (
                everything_running(self._brokers),
                closing(Followed(bootstrap, sinks_of(self._document))) as followed,
                paced_feed(bootstrap, self._document, self._load.stream) as feed,
            ):
                played = Running(self._load, copies, feed, followed)
                played.scene = Scene(copies, self._brokers, self._random, played.go_on)
                yield played
                played.finish()
                copies.stop()
                followed.read_on()
                self._check(followed, files[0])
        finally:
            self.restarts = copies.restarts
            copies.abandon()

    def _files(self) -> list[Path]:
        """Return files of the pipeline that copies run, in turns: the second one's are warm."""
        folder, made = self._folder / "disturbed", self._document
        if self._store == "disk":
            made["state"] = {"directory": "state", "every": EVERY, "shards": PARTITIONS}
            return [write_pipeline(folder, made, MEMORYLESS)]
        made["state"] = {"store": "kafka", "every": EVERY, "topic": f"{made['name']}.state"}
        made["sink"]["create"] = True
        warm = made | {"state": made["state"] | {"standby": "all"}}
        if self._brokers is not None:
            warm["kafka"] = made["kafka"] | {"bootstrap": self._brokers.relayed}
        return [
            write_pipeline(folder, made, MEMORYLESS),
            write_pipeline(folder / "warm", warm, MEMORYLESS),
        ]

    def _check(self, followed: Followed, disturbed: Path) -> None:
        """Compare with one process that nobody disturbs."""
        bootstrap, peaceful = self._kafka.bootstrap, self._made()
        peaceful["state"] = {"directory": "state", "every": EVERY}
        total = [count_of(topic) for topic in followed.read_on()]
        self.released = sum(total)
        path = write_pipeline(self._folder / "undisturbed", peaceful, MEMORYLESS)
        in_peace = Followed(bootstrap, sinks_of(peaceful))

        def is_there() -> bool:
            return all(
                count_of(topic) >= wanted
                for topic, wanted in zip(in_peace.read_on(), total, strict=True)
            )

        with closing(in_peace) as other, running(path) as process:
            process.wait_until(is_there, seconds=PATIENCE_SECONDS)
            if process.stop() != 0:
                raise Wrong(process.stderr)
            found = list(zip(followed.read_on(), other.read_on(), strict=True))
        written = [
            read_topic(bootstrap, topic, "read_uncommitted") for topic in sinks_of(self._document)
        ]
        for (mine, theirs), all_of_it in zip(found, written, strict=True):
            self.tally += tally(mine, theirs, all_of_it)
        for mine, theirs in found:
            check_equal(mine, theirs)
        for all_of_it in written:
            self.aborted += check_one_content(all_of_it)
        self._check_log(peaceful)
        if spent(disturbed) != spent(path):
            raise Wrong("the ledger says of some stream that it has spent something else")

    def _check_log(self, peaceful: Document) -> None:
        """Compare the partial sums that copies have told each other."""
        bootstrap, log = self._kafka.bootstrap, self._document["sink"].get("partials")
        if log is None:
            return
        here, there = (
            read_topic(bootstrap, document["sink"]["partials"])[0]
            for document in (self._document, peaceful)
        )
        check_same_entries(here, there)
        self.aborted += check_one_content(read_topic(bootstrap, log, "read_uncommitted"))


@dataclass
class Running:
    """A pipeline in the middle of its rounds."""

    load: Load
    copies: Copies
    feed: PacedFeed
    followed: Followed
    scene: Scene = field(init=False)
    _end: int = field(default=0, init=False)

    def play(self, plan: Plan, seconds: float | None = None) -> None:
        """Feed the records of a round, and let its faults happen when their moment has come.

        With `seconds` that is after so many at the latest, whatever the fault before still does.
        """
        begin = plan.number * self.load.per_round
        self._end = begin + self.load.per_round
        for at, fault in plan.faults:
            self._wait(self.load.due(begin + at), seconds)
            fault(self.scene)

    def finish(self) -> None:
        """Feed what is left, and wait for all that must come of it."""
        self._end = len(self.load.stream.placed)
        while self.feed.fed < self._end:
            self.go_on(0.0)
        self._wait(self.load.due(self._end))
        for topic in self.followed.read_on():
            check_no_release_twice(topic)

    def go_on(self, seconds: float) -> None:
        """Feed and look after copies for a while."""
        until = time.monotonic() + seconds
        while self._advance() >= 0 and time.monotonic() < until:
            time.sleep(0.02)

    def _wait(self, due: int, seconds: float | None = None) -> None:
        until = time.monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)
        while self._advance() < due:
            if time.monotonic() > until and seconds is not None:
                return
            if time.monotonic() > until:
                raise Wrong(
                    f"of {due} there are {self._advance()}, and nothing more came in"
                    f" {PATIENCE_SECONDS} s:\n{self.copies.tails()}"
                )
            time.sleep(0.02)

    def _advance(self) -> int:
        """Look after copies and feed a little; returns how far the pipeline has come."""
        self.copies.tend()
        done, fed = self.load.done(self.followed.read_on()), self.feed.fed
        if fed < self._end and self.load.due(max(0, fed - self.load.ahead)) <= done:
            self.feed.feed(min(CHUNK, self._end - fed))
        return done


def sinks_of(document: Document) -> list[str]:
    """Return what is published: the sanitized topic, and dead letters."""
    sink = document["sink"]
    return [sink["topic"], sink["dead_letters"]]


def count_of(topic: Topic) -> int:
    """Return how many records a topic holds."""
    return sum(map(len, topic.values()))


def spent(pipeline: Path) -> list[tuple[str, int, bool]]:
    """Return what the ledger says that streams have spent."""
    content = orjson.loads(fugu("ledger", pipeline, "--json"))
    return sorted((one["stream"], one["tenths"], one["exhausted"]) for one in content["streams"])
