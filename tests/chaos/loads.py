"""Feed pipelines in rounds of faults, and tell how far they have come with it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from random import Random
from typing import ClassVar, Literal, get_args

import orjson

from tests.chaos.outcome import Topic
from tests.faults.feeding import PARTITIONS, Stream, stream
from tests.faults.test_aggregate_crashes import BEGIN, OPERATOR, SECOND, ZONES, trips
from tests.kafka.pipelines import Document, pipeline_document
from tests.kafka.records import Placed
from tests.kafka.topics import TopicFactory

Name = Literal["streams", "city"]
NAMES = get_args(Name)
BUDGET = 20
"""Each release costs one: users of many rounds come to the end of their budget."""
USERS, TICKS_PER_ROUND = 40, 12
_SENT_TWICE = 0.2
_CLOSING = 3
"""So many ticks after the one that a record is of, that one has closed in every partition."""


@dataclass(frozen=True)
class Load(ABC):
    """Hold the records, how many a round has, and how many may wait for their outcome.

    Progress is counted in what `done` reads off the topics, and `due` says how much of it must come
    of so many records.
    """

    stream: Stream
    per_round: int
    ahead: int
    partitions: ClassVar[int]
    """The number of partitions of the sanitized topic."""

    def document(self, bootstrap: str, topics: TopicFactory, source: str) -> Document:
        """Return a pipeline over `source` with topics of its own."""
        sink = topics("sanitized", partitions=self.partitions)
        made = pipeline_document(bootstrap, source, sink)
        made["name"] = source.removeprefix("fugu-test-")
        made["sink"] |= {"key": "original", "dead_letters": topics("dead", partitions=PARTITIONS)}
        ledger = topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})
        made["ledger"] = {"topic": ledger}
        return made

    @abstractmethod
    def due(self, fed: int) -> int:
        """Return the progress that must come of the first records, so many of them."""

    @abstractmethod
    def done(self, found: Sequence[Topic]) -> int:
        """Return the progress, by what is in the sink and among dead letters."""


@dataclass(frozen=True)
class Streams(Load):
    """Release every record by itself, until budgets are spent, but for those sent twice."""

    @classmethod
    def of(cls, rounds: int, seed: int, per_round: int) -> "Streams":
        """Return records for so many rounds."""
        sent = sent_twice(stream(per_round * rounds, seed=seed), seed)
        return cls(sent, per_round, ahead=500)

    partitions = PARTITIONS

    def document(self, bootstrap: str, topics: TopicFactory, source: str) -> Document:
        made = super().document(bootstrap, topics, source)
        made["budget"] = {"total": BUDGET, "when_exhausted": "repeat"}
        made["source"]["dedupe"] = {"field": "id", "remember": 8}
        return made

    def due(self, fed: int) -> int:
        return fed

    def done(self, found: Sequence[Topic]) -> int:
        return sum(len(records) for topic in found for records in topic.values())


def sent_twice(once: Stream, seed: int) -> Stream:
    """Give good records an id; some of them are the last one of their user again."""
    random, last = Random(seed), dict[bytes | None, bytes]()
    placed, fresh = list[Placed](), list[bool]()
    for number, (one, good) in enumerate(zip(once.placed, once.good, strict=True)):
        record = one.record
        again = good and record.key in last and random.random() < _SENT_TWICE
        if good and not again:
            fields = orjson.loads(record.value or b"")
            last[record.key] = orjson.dumps({**fields, "id": number})
        value = last[record.key] if good else record.value
        placed.append(replace(one, record=replace(record, value=value)))
        fresh.append(good and not again)
    return Stream(placed, fresh)


@dataclass(frozen=True)
class City(Load):
    """Count people by zone and tick: copies bound, and one of them merges."""

    begun: Sequence[int] = field(default=())
    """The number of ticks that have begun with each record."""
    refused: int = 0

    @classmethod
    def of(cls, rounds: int, seed: int) -> "City":
        """Return records for so many rounds."""
        placed, refused = trips(USERS, TICKS_PER_ROUND * rounds, seed)
        at = (orjson.loads(one.record.value or b"")["at"] for one in placed)
        begun = [*accumulate(((moment - BEGIN) // SECOND + 1 for moment in at), max)]
        each = len(placed) // rounds
        good = [True] * len(placed)
        return cls(Stream(placed, good), each, ahead=2 * each, begun=begun, refused=refused)

    partitions = 1

    def document(self, bootstrap: str, topics: TopicFactory, source: str) -> Document:
        made = super().document(bootstrap, topics, source)
        made["source"] |= {"timestamp": {"field": "at", "format": "epoch-ms"}}
        made["operator"] = dict(OPERATOR)
        made["sink"]["partials"] = topics("partials")
        return made

    def due(self, fed: int) -> int:
        """Return how many ticks are over: all but the one in which everything ends."""
        if fed >= len(self.begun):
            return self.begun[-1] - 1
        return max(0, self.begun[fed] - _CLOSING)

    def done(self, found: Sequence[Topic]) -> int:
        """Return up to which tick figures are published; with the last one, all is refused."""
        figures, dead_letters = found
        if not figures[0]:
            return 0
        last = orjson.loads(figures[0][-1].value or b"")
        ticks: int = (last["start"] - BEGIN) // SECOND + (last["group"] == ZONES[-1])
        refused = sum(map(len, dead_letters.values()))
        return ticks if ticks < self.due(len(self.begun)) or refused == self.refused else ticks - 1


def load_of(name: Name, rounds: int, seed: int) -> Load:
    """Return the load of that name."""
    if name == "streams":
        return Streams.of(rounds, seed, 2_000)
    return City.of(rounds, seed)
