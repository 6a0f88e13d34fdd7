"""Partitions are added to the source of an aggregate: sums stay exact, and its ledger goes on."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.kafka.partitioner import partition_of
from fugu.dataflows.offline.evaluation.aggregates.figures import Exact
from fugu.dataflows.stages.log_entries import read_entry
from fugu.dataflows.stages.merging import Merging
from fugu.operators.randomness import DrawScope, Secret
from tests.faults.feeding import document_with_topics
from tests.faults.killing import killed_inside
from tests.faults.test_repartition import extend
from tests.kafka.pipelines import MEMORYLESS, Document, refused, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

FEW, MANY, MORE = 2, 4, 5
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
PEOPLE = [b"user-%d" % number for number in range(60)]
ZONES = ["north", "south", "west"]
WINDOW = 4
MOVE: list[str] = ["state", "repartition"]

Said = list[tuple[bytes, int, str]]
"""People, with a time and a place each."""


def pipeline_of(bootstrap: str, topics: TopicFactory) -> Document:
    source = topics("source", partitions=FEW)
    document = document_with_topics(bootstrap, topics, source, partitions=FEW)
    document["source"] |= {
        "partitioner": "murmur2",
        "partitions": "follow",
        "timestamp": {"field": "at", "format": "epoch-ms"},
    }
    document["operator"] = {
        "kind": "pba",
        "epsilon": 1.0,
        "window": WINDOW,
        "groups": ZONES,
        "ticks": {"width": "1s", "grace": "1500ms"},
    }
    document["sink"] |= {"topic": topics("counts"), "partials": topics("partials"), "create": True}
    document["state"] |= {"every": "200ms", "shards": 2}
    return document


def trips(seed: int, first: int, ticks: int) -> Said:
    """Everybody is somewhere in every tick, some twice; some records come a tick late or early."""
    random, timed = Random(seed), list[tuple[int, tuple[bytes, int, str]]]()
    for tick in range(first, first + ticks):
        for who in PEOPLE:
            for _ in range(random.choice([1, 1, 2])):
                at = BEGIN + tick * SECOND + random.randrange(SECOND)
                off = random.choice([0] * 9 + [-900, 2_500])
                timed.append((at, (who, at + off, random.choice(ZONES))))
    return [said for _, said in sorted(timed)]


class Feed:
    """Writes records where their keys belong, and remembers them in order."""

    def __init__(self, bootstrap: str, source: str) -> None:
        self.bootstrap, self.source = bootstrap, source
        self.sent: list[tuple[int, int, bytes, int, str]] = []
        self._ends = Counter[int]()

    def send(self, said: Said, partitions: int) -> None:
        placed = []
        for who, at, zone in said:
            home = partition_of(who, partitions, "murmur2")
            placed.append(Placed(home, Record(who, orjson.dumps({"zone": zone, "at": at}))))
            self.sent.append((home, self._ends[home], who, at, zone))
            self._ends[home] += 1
        produce(self.bootstrap, self.source, placed)

    def counted(
        self, refused: set[tuple[int, int]], ends: dict[int, int]
    ) -> Counter[tuple[int, str]]:
        """Whoever sent a record to a tick counts there once, as the last one says that was read."""
        last = {
            (who, at // SECOND): zone
            for partition, offset, who, at, zone in self.sent
            if (partition, offset) not in refused and offset < ends[partition]
        }
        return Counter((tick, zone) for (_, tick), zone in last.items())


def exact_sums(bootstrap: str, document: Document) -> dict[int, list[int]]:
    """Return what the internal log says of each tick: its merge, without noise."""
    scope = DrawScope(Secret(bytes(32)), "city", "exact", 1, bytes(32))
    merge, sums = Merging(Exact(), scope, "topic-id", FEW, len(ZONES)), dict[int, list[int]]()
    state = merge.start()
    for record in read_topic(bootstrap, document["sink"]["partials"])[0]:
        for tick, releases in merge(state, read_entry(record.value, "log")):
            assert tick not in sums
            sums[tick] = releases.values[0].tolist()
    return sums


def refused_records(bootstrap: str, document: Document) -> set[tuple[int, int]]:
    dead = read_topic(bootstrap, document["sink"]["dead_letters"]).values()
    letters = [orjson.loads(record.value or b"") for records in dead for record in records]
    return {(letter["partition"], letter["offset"]) for letter in letters}


@pytest.mark.acceptance
def test_added_partitions_are_moved_to_and_killed_anywhere_the_merge_goes_on(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = pipeline_of(bootstrap, topics)
    pipeline, source = write_pipeline(tmp_path, document, MEMORYLESS), document["source"]["topic"]
    figures, feed = document["sink"]["topic"], Feed(bootstrap, source)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def released(ticks: int) -> bool:
            return sum(end_offsets(consumer, figures)) >= ticks * len(ZONES)

        feed.send(trips(1, 0, 12), FEW)
        with running(pipeline) as process:
            process.wait_until(lambda: released(9))
            assert process.stop() == 0, process.stderr
        before = read_topic(bootstrap, figures)[0]
        extend(bootstrap, source, MANY)

        killed_inside("people moved, merge not told", 1, *MOVE, pipeline)
        assert "Run fugu state repartition once more" in refused("state", "show", pipeline)
        killed_inside("people moved, merge told", 1, "run", pipeline)
        killed_inside("renamed", 2, *MOVE, pipeline)

        said = trips(2, 12, 14)
        half = len(said) // 2
        feed.send(said[:half], MANY)
        with running(pipeline) as process:
            process.wait_until(lambda: released(15))
            assert "streams have moved to added partitions, as was begun" in process.stderr
            process.kill()
        with running(pipeline) as process:
            process.wait_until(lambda: released(17))
            extend(bootstrap, source, MORE)
            process.wait_until(lambda: "people with what they contributed" in process.stderr)
            feed.send(said[half:], MORE)
            process.wait_until(lambda: released(22))
            assert process.stop() == 0, process.stderr

    sums = exact_sums(bootstrap, document)
    read = [
        orjson.loads(one.read_bytes()) for one in tmp_path.glob("state/shard-????/stopped.json")
    ]
    ends = {int(partition): end for one in read for partition, end in one.items()}
    assert ends.keys() == set(range(MORE))
    expected = feed.counted(refused_records(bootstrap, document), ends)
    assert {
        (tick, zone): count
        for tick, counts in sums.items()
        for zone, count in zip(ZONES, counts, strict=True)
        if count
    } == {place: count for place, count in expected.items() if place[0] in sums}
    assert max(sum(counts) for counts in sums.values()) <= len(PEOPLE)
    after = read_topic(bootstrap, figures)[0]
    assert after[: len(before)] == before
    published = [orjson.loads(record.value or b"") for record in after]
    ticks = range(published[0]["start"] // SECOND, published[0]["start"] // SECOND + len(sums))
    assert [one["start"] // SECOND for one in published[:: len(ZONES)]] == list(ticks)[
        : len(published) // len(ZONES)
    ]
    assert max(one["window_epsilon"] for one in published) <= 1.0
    assert sum(map(sum, sums.values())) > 10 * len(PEOPLE)
