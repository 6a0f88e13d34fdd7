"""Tell where records of the internal topic by user come from, for dead letters."""

from collections import deque
from collections.abc import Sequence
from contextlib import closing

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.records.origins import Origin, origin_of

FORWARDED = "forwarded_offset"
"""Name the field of a dead letter that holds the offset in the internal topic."""
_REMEMBERED = 4


class Origins:
    """Remember the newest batches of each partition; others are read once more.

    So a replay tells the same, whatever it holds back.
    """

    def __init__(self, source: Topic, by_user: str, client: Client) -> None:
        self.source, self._by_user, self._client = source, by_user, client
        self._newest: dict[int, deque[Batch]] = {}

    def note(self, batch: Batch) -> None:
        """Remember a batch that is about to be decoded."""
        self._newest.setdefault(batch.partition, deque(maxlen=_REMEMBERED)).append(batch)

    def of(self, partition: int, offsets: Sequence[int]) -> list[Origin | None]:
        """Return the origins of these records; None of those that Fugu has not written."""
        wanted, found = set(offsets), dict[int, Origin | None]()
        for batch in [*self._newest.get(partition, ())]:
            _look(batch, wanted, found)
        if missing := wanted - found.keys():
            with closing(self._client.reader(self._by_user)) as reader:
                bound = reader.bounds([partition])[partition]
                first, end = max(min(missing), bound.start), min(max(missing) + 1, bound.end)
                for batch in reader.read_range(partition, first, end) if first < end else ():
                    _look(batch, missing, found)
        return [found.get(offset) for offset in offsets]


def _look(batch: Batch, wanted: set[int], found: dict[int, Origin | None]) -> None:
    """Note the origins of what is wanted and in this batch."""
    if wanted.isdisjoint(range(int(batch.offsets[0]), int(batch.offsets[-1]) + 1)):
        return
    for offset, key in zip(batch.offsets, batch.keys, strict=True):
        if offset in wanted:
            found[offset] = origin_of(key)
