"""The data set: sticky symbols of 10,000 users, and topics that hold it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from time import time

import numpy as np
import orjson
from confluent_kafka import Producer

from bench.stream import Stream, key_of
from fugu.operators.mechanism import Integers
from fugu.operators.sip.markov_model import MarkovModel

EPSILON = 1.0
SMOOTHING = 0.001
STAYS = 0.8
ALPHABET = [
    "sleeping",
    "resting",
    "sitting",
    "standing",
    "strolling",
    "walking",
    "climbing",
    "running",
    "cycling",
    "swimming",
]
TICK_MILLISECONDS = 60_000
_BUFFERED = 500_000
_SEED = 20260101
_ERRORS = 3
"""The level below which librdkafka logs: less serious is that a new broker is not quite ready."""


def model_document(alphabet: list[str]) -> dict[str, object]:
    """A model file: a symbol stays, or moves to a neighbour, seldom elsewhere.

    No two shares are equal: where beliefs tie, the last bit decides what the law is, and the check
    could not follow peers who add in another order.
    """
    symbols, random = len(alphabet), Random(_SEED)
    moves = 1 - STAYS
    rows = []
    for symbol in range(symbols):
        row = [moves / 2 / symbols * random.random() for _ in range(symbols)]
        row[symbol] += STAYS
        for neighbour in (symbol - 1, symbol + 1):
            row[neighbour % symbols] += moves * 3 / 4 * random.random()
        rows.append([share / sum(row) for share in row])
    return {
        "format": "fugu-markov-model",
        "format_version": 2,
        "description": "Activities as the bench invents them.",
        "alphabet": alphabet,
        "prior": _mean(rows),
        "transition": rows,
        "smoothing": SMOOTHING,
    }


def _mean(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def model_of(alphabet: list[str]) -> MarkovModel:
    """The same as Fugu reads it."""
    document = model_document(alphabet)
    prior, transition = document["prior"], document["transition"]
    assert isinstance(prior, list)
    assert isinstance(transition, list)
    return MarkovModel.smoothed(prior, transition, SMOOTHING)


@dataclass(frozen=True)
class Truth:
    """Hold what is in one partition: user and symbol of every record, in order."""

    users: Integers
    symbols: Integers


def stream_of(users: int, partitions: int) -> Stream:
    """Random users; each behaves as the model says."""
    return Stream(model_of(ALPHABET), ALPHABET, users, partitions)


def fill(bootstrap: str, topic: str, stream: Stream, records: int) -> list[Truth]:
    """Write so many records, and remember what is in them."""
    sent = islice(stream.records(), records)
    index = {symbol: number for number, symbol in enumerate(stream.alphabet)}
    users: list[list[int]] = [[] for _ in range(stream.partitions)]
    symbols: list[list[int]] = [[] for _ in range(stream.partitions)]
    with Writing(bootstrap) as writing:
        for user, value in sent:
            partition = user % stream.partitions
            writing.send(topic, partition, key_of(user), value)
            users[partition].append(user)
            symbols[partition].append(index[orjson.loads(value)["zone"]])
    return [Truth(np.array(who), np.array(what)) for who, what in zip(users, symbols, strict=True)]


def fill_ticks(bootstrap: str, topic: str, stream: Stream, records: int) -> None:
    """Every user sends one record in each tick of event time: so many of them in all."""
    ticks = -(-records // stream.users)
    first = int(time() * 1_000) - ticks * TICK_MILLISECONDS
    with Writing(bootstrap) as writing:
        for number, (user, value) in enumerate(islice(_in_turn(stream), records)):
            then = first + number // stream.users * TICK_MILLISECONDS
            writing.send(topic, user % stream.partitions, key_of(user), value, then)


def _in_turn(stream: Stream) -> Iterator[tuple[int, bytes]]:
    seed = 0
    while True:
        yield from stream.one_each(seed)
        seed += 1


class Writing:
    """A producer of the bench; flushed at the end."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 5,
                "queue.buffering.max.messages": _BUFFERED,
                "queue.buffering.max.kbytes": 2**20,
                "enable.idempotence": True,
                "log_level": _ERRORS,
            }
        )
        self._unserved = 0

    def __enter__(self) -> "Writing":
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.flush()

    def send(
        self, topic: str, partition: int, key: bytes, value: bytes, timestamp: int = 0
    ) -> None:
        """One record; waits where the queue is full."""
        while True:
            try:
                self._producer.produce(topic, value, key, partition, timestamp=timestamp)
                break
            except BufferError:
                self._producer.poll(0.1)
        self._unserved += 1
        if self._unserved == 1_000:
            self._producer.poll(0)
            self._unserved = 0


def write_model(folder: Path, alphabet: list[str]) -> Path:
    """The model file that Fugu and peers read."""
    path = folder / "model.json"
    path.write_bytes(orjson.dumps(model_document(alphabet)))
    return path
