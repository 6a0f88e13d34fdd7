"""Draw a sample of users from the private topic, for `fugu evaluate`.

A user is drawn with all of its records, up to a limit, because mechanisms follow streams. Which
users are drawn depends on a hash of key and seed alone. So one pass is enough: whoever once falls
out of the users with the smallest hashes never comes back.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from heapq import heappush, heappushpop

import orjson

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import is_of_one_record
from fugu.dataflows.base.field_paths import flattened, placed
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.records.codec import Codec

Line = tuple[int, int, int, bytes, bytes]
"""Time, partition, offset, key and content of a record."""


@dataclass
class DrawnUsers:
    """Keep the records of the users with the smallest hashes, `most_each` of each at most."""

    users: int
    most_each: int
    seed: int
    _held: dict[bytes, list[Line]] = field(default_factory=dict)
    _largest: list[tuple[int, bytes]] = field(default_factory=list)
    """A heap of hashes, negated: the largest is on top."""

    def add(self, batch: Batch) -> None:
        """Take the records of a batch in; those without key or value are passed over."""
        for offset, time, key, value, _ in batch.records():
            if key and value is not None and self._has_room_for(key):
                lines = self._held[key]
                if len(lines) < self.most_each:
                    lines.append((time, batch.partition, offset, key, value))

    def _has_room_for(self, key: bytes) -> bool:
        if key in self._held:
            return True
        seed = b"%d" % self.seed
        place = int.from_bytes(blake2b(key, digest_size=8, key=seed).digest())
        if len(self._largest) < self.users:
            heappush(self._largest, (-place, key))
        elif place < -self._largest[0][0]:
            _, gone = heappushpop(self._largest, (-place, key))
            del self._held[gone]
        else:
            return False
        self._held[key] = []
        return True

    @property
    def drawn(self) -> int:
        """Return how many users there are."""
        return len(self._held)

    def in_order(self) -> list[Line]:
        """Return all records by time; those of a user stay in the order of its partition."""
        lines = [line for own in self._held.values() for line in _never_back(own)]
        return sorted(lines, key=lambda line: line[:3])


def _never_back(lines: Sequence[Line]) -> Iterator[Line]:
    """Give a record that is dated before its predecessor the time of that one."""
    latest = 0
    for time, *rest in lines:
        latest = max(latest, time)
        yield (latest, *rest)  # type: ignore[misc]


def draw(client: Client, topic: Topic, drawn: DrawnUsers, codec: Codec) -> None:
    """Read everything that a topic holds now, once."""
    with closing(client.reader(topic.name, headers=codec.reads_headers)) as reader:
        for partition, bound in reader.bounds(list(range(topic.partitions))).items():
            for batch in reader.read_range(partition, bound.start, bound.end):
                drawn.add(replace(batch, keys=codec.keys_of(batch)))


def written(
    lines: Iterable[Line],
    fields: Sequence[str],
    key_field: str,
    time_field: str | None,
    codec: Codec,
) -> Iterator[bytes]:
    """Yield one JSON object for each record: its key, and of its fields only these.

    Records that cannot be read or written again are passed over, and so are keys that are no text.
    """
    for time, _, _, key, value in lines:
        try:
            record, name = codec.opened(value), key.decode()
            kept = placed(flattened(record, fields))
            when = {} if time_field is None else {time_field: time}
            line = {key_field: name, **when, **kept}
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        except Exception as error:
            if not is_of_one_record(error):
                raise
