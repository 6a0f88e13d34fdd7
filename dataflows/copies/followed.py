"""Follow chains of partitions that other copies own, so that a takeover reads the rest alone.

A follower is in no group and owns nothing. What it has read is checked at a takeover as any chain
is; where something is wrong with it, the chain is read anew from its start.
"""

from collections.abc import Callable, Collection

from fugu.dataflows.copies.work import CopiedTable
from fugu.dataflows.kafka.client import CopyClient, Reader
from fugu.dataflows.state.chain_reader import ChainReader
from fugu.dataflows.state.state_topic import StateTopic

_AT_ONCE = 16
"""Count the records of a poll, each of up to a megabyte: records of the source wait meanwhile."""


class Followed:
    """Hold the chains that are followed, by partition of the topic, as far as they are read."""

    def __init__(
        self, client: CopyClient, state: StateTopic, fresh: Callable[[], CopiedTable]
    ) -> None:
        self._client, self._state, self._fresh = client, state, fresh
        self._chains: dict[int, ChainReader[CopiedTable]] = {}
        self._next: dict[int, int] = {}
        self._reader: Reader | None = None

    def follow(self, partitions: Collection[int]) -> None:
        """Follow these partitions and no others, and read a little of what is new there."""
        if self._chains.keys() != set(partitions):
            self._change(partitions)
        if self._reader is None:
            return
        for batch in self._reader.poll(_AT_ONCE):
            chain = self._chains[batch.partition]
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                chain.take(int(offset), key, value)
            self._next[batch.partition] = int(batch.offsets[-1]) + 1

    def taken(self, partition: int) -> tuple[ChainReader[CopiedTable], int] | None:
        """Return a chain and the offset up to which it is read, and follow it no longer."""
        chain, offset = self._chains.get(partition), self._next.get(partition)
        if chain is None or offset is None:
            return None
        self._change(self._chains.keys() - {partition})
        return (chain, offset) if chain.is_sound else None

    def close(self) -> None:
        """Follow nothing any more."""
        self._change(())

    def _change(self, partitions: Collection[int]) -> None:
        for partition in self._chains.keys() - set(partitions):
            del self._chains[partition], self._next[partition]
        added = sorted(set(partitions) - self._chains.keys())
        if not partitions:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            return
        topic = self._state.topic.name
        if self._reader is None:
            self._reader = self._client.reader(topic)
        bounds = self._reader.bounds(added) if added else {}
        for partition in added:
            self._chains[partition] = ChainReader(topic, partition, self._fresh, self._state.opened)
            self._next[partition] = bounds[partition].start
        self._reader.assign(self._next)
