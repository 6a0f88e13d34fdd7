"""The records that are measured: JSON of about 120 bytes, users at random, zones by the model.

Random users make unequal rounds (some user appears often in a batch), as real streams do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, count, islice
from random import Random
from time import time

import orjson

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.kafka.client import Client
from fugu.operators.columns import IntegerColumn, column_of
from fugu.operators.sip.markov_model import MarkovModel

_SEED = 20240601
_WRITE_SIZE = 1_000


@dataclass(frozen=True)
class Stream:
    """Records of `users` users, equally many on each of `partitions` partitions."""

    model: MarkovModel
    alphabet: list[str]
    users: int
    partitions: int = 1

    def outgoing(self, records: int) -> Iterator[Outgoing]:
        """The first `records` of them, for a writer; stamped with the current time."""
        queues: list[list[tuple[bytes, bytes]]] = [[] for _ in range(self.partitions)]
        for user, value in islice(self.records(), records):
            queue = queues[user % self.partitions]
            queue.append((key_of(user), value))
            if len(queue) == _WRITE_SIZE:
                yield _outgoing(user % self.partitions, queue)
                queue.clear()
        yield from (_outgoing(partition, queue) for partition, queue in enumerate(queues))

    @property
    def keys(self) -> list[bytes]:
        """The keys of all users."""
        return [key_of(user) for user in range(self.users)]

    def batches(self, batches: int, size: int) -> list[Batch]:
        """Batches of partition 0 as a reader returns them; every partition is like it."""
        chunks = [list(islice(self.records(seed=number), size)) for number in range(batches)]
        return [
            Batch(
                partition=0,
                offsets=list(range(number * size, (number + 1) * size)),
                timestamps=[_now()] * size,
                keys=[key_of(user) for user, _ in chunk],
                values=[value for _, value in chunk],
                headers=[[] for _ in chunk],
            )
            for number, chunk in enumerate(chunks)
        ]

    def records(self, seed: int = _SEED) -> Iterator[tuple[int, bytes]]:
        """User and value, users at random and without end."""
        random = Random(seed)
        return self._sent_by((random.randrange(self.users) for _ in count()), random)

    def one_each(self, seed: int = _SEED) -> Iterator[tuple[int, bytes]]:
        """User and value, once for every user."""
        return self._sent_by(range(self.users), Random(seed))

    def _sent_by(self, users: Iterable[int], random: Random) -> Iterator[tuple[int, bytes]]:
        prior = list(accumulate(self.model.prior.tolist()))
        rows = [list(accumulate(row)) for row in self.model.transition.tolist()]
        symbols = range(len(self.alphabet))
        zones: dict[int, int] = {}
        for user in users:
            weights = rows[zones[user]] if user in zones else prior
            zone = zones[user] = random.choices(symbols, cum_weights=weights)[0]
            record = {
                "zone": self.alphabet[zone],
                "bpm": random.randrange(50, 190),
                "device": f"watch-{user % 997:03d}",
                "firmware": "4.2.1",
                "session": f"{random.getrandbits(64):016x}",
                "steps": random.randrange(100_000),
                "battery": random.randrange(100),
            }
            yield user, orjson.dumps(record)


def produce(client: Client, topic: str, outgoing: Iterable[Outgoing]) -> None:
    """Write it all, and wait until it is there."""
    writer = client.writer()
    for one in outgoing:
        writer.write(topic, one)
    writer.flush()
    writer.close()


def key_of(user: int) -> bytes:
    """The key of a user's records."""
    return b"user-%06d" % user


def _now() -> int:
    """Old timestamps would be removed by retention while they are measured."""
    return int(time() * 1000)


def _outgoing(partition: int, queue: list[tuple[bytes, bytes]]) -> Outgoing:
    return Outgoing(
        partition,
        [key for key, _ in queue],
        [value for _, value in queue],
        [[] for _ in queue],
        [_now()] * len(queue),
    )


def in_columns(batch: Batch) -> Batch:
    """The same batch as the librdkafka client reads it."""
    return replace(
        batch,
        offsets=IntegerColumn(column_of(batch.offsets)),
        timestamps=IntegerColumn(column_of(batch.timestamps)),
        keys=OptionalByteColumn.of(batch.keys),
        values=OptionalByteColumn.of(batch.values),
    )
