"""Compare what the ledger says with what the published releases of a lost state have spent.

A topic may lose its newest records without a trace, such as by an unclean election. The ledger is
another topic: where it says that a stream has spent more than its releases cost, some are missing.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import orjson

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.flows.replaying import Replayed
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.publishing.ledger_topic import StreamEntry, read_entry
from fugu.dataflows.records.published import release_id_of


@dataclass(frozen=True)
class Newest:
    """Hold the newest record of a stream in the ledger."""

    partition: int
    value: bytes | None
    name: bytes | None

    @property
    def level(self) -> tuple[bool, int]:
        """Return how much is spent, in an order; more than all where it cannot be read."""
        return _level(self.value)


@dataclass(frozen=True)
class LedgerOf:
    """Read what a ledger says of the streams of one pipeline and source."""

    pipeline: str
    publisher: Publisher

    def newest(self, client: Client, ledger: Topic) -> dict[bytes, Newest]:
        """Return the newest record of every stream, by key."""
        found: dict[bytes, Newest] = {}
        with closing(client.reader(ledger.name, headers=True)) as reader:
            for partition, bound in reader.bounds(list(range(ledger.partitions))).items():
                for batch in reader.read_range(partition, bound.start, bound.end):
                    for _, _, key, value, headers in batch.records():
                        place = self._place(key)
                        if key is not None and place is not None and self._is_own(value):
                            found[key] = Newest(place, value, release_id_of(headers))
        return found

    def refuse_more(
        self, ledger: str, newest: Mapping[bytes, Newest], replayed: Mapping[int, Replayed]
    ) -> None:
        """Raise `StartRefused` where a stream has spent more than its releases that are there.

        What is said about a record behind the last release is no evidence: the process may have
        died before it published that release, and the next start makes it.
        """
        unreleased: dict[int, set[bytes]] = {}
        for key, one in newest.items():
            there = replayed.get(one.partition, None)
            spending = None if there is None else there.spending.get(key)
            if one.level <= (_NOTHING if spending is None else _level(spending[0])):
                continue
            if there is not None and one.partition not in unreleased:
                behind = range(there.source_next, there.source_end)
                names = self.publisher.ledger_ids(one.partition, behind)
                unreleased[one.partition] = set(names)
            if one.name is None or one.name not in unreleased.get(one.partition, ()):
                raise StartRefused(
                    f"topic {ledger} says that a stream of partition {one.partition} has spent "
                    "more than its releases in the sink cost, so releases are gone from there. "
                    f"Restore the state directory from a backup, or {NEW_PIPELINE}."
                )

    def _place(self, key: bytes | None) -> int | None:
        """Return the partition of a stream of the pipeline that a key names."""
        try:
            match orjson.loads(key or b"null"):
                case [self.pipeline, int(partition), str()]:
                    return int(partition)
        except orjson.JSONDecodeError:
            pass
        return None

    def _is_own(self, value: bytes | None) -> bool:
        """Return whether a value is about this source, or may be."""
        entry = read_entry(value)
        return not isinstance(entry, StreamEntry) or entry.source_identity == self.publisher.source


_NOTHING = (False, 0)
_MORE_THAN_ALL = (True, 11)


def _level(value: bytes | None) -> tuple[bool, int]:
    if value is None:
        return _NOTHING
    entry = read_entry(value)
    return (entry.exhausted, entry.tenths) if isinstance(entry, StreamEntry) else _MORE_THAN_ALL
