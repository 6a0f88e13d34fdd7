"""Look at Kafka as a start does, and change nothing: topics that would be created are pretended.

So what a start refuses is found by the code of the start itself, before anything is created.
"""

from collections.abc import Iterator, Mapping, Sequence

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.kafka.client import Bounds, Client, Reader, Rights, Topic, Writer

NOT_THERE = "(not there yet)"
"""The identity of a topic that would be created."""


class LookingClient(Client):
    """Read through a client; what is written or created is nowhere but here."""

    def __init__(self, client: Client) -> None:
        self.name = client.name
        self.created: dict[str, Topic] = {}
        self._client = client

    def topic(self, name: str) -> Topic | None:
        """Return a topic that is there, or would be."""
        return self.created.get(name) or self._client.topic(name)

    def rights(self, topic: str) -> Rights | None:
        """Return who may do what; None of a topic that is not there."""
        return None if topic in self.created else self._client.rights(topic)

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Pretend to create a topic."""
        self.created[name] = Topic(name, NOT_THERE, partitions, settings)

    def add_partitions(self, name: str, partitions: int) -> None:
        """Change nothing: no start extends a topic."""
        return

    def reader(self, topic: str, *, headers: bool = False, committed: bool = True) -> Reader:
        """Return a reader; a topic that is not there is empty."""
        if topic in self.created:
            return _Nothing()
        return self._client.reader(topic, headers=headers, committed=committed)

    def delete_keys(self, topic: str, partition: int, keys: Sequence[bytes]) -> None:
        """Change nothing."""
        return

    def writer(self, owner: str | None = None) -> Writer:
        """Return a writer that writes nothing."""
        return _Nowhere()

    def without_transactions(self, pipeline: str) -> str:
        """Say why there are no transactions; what is tried out shuts nobody out."""
        return self._client.without_transactions(pipeline)

    def end_transaction_of(self, owner: str) -> None:
        """Change nothing."""
        return


class _Nothing(Reader):
    """Read a topic that is empty."""

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        return

    def poll(self, max_records: int) -> list[Batch]:
        return []

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return {partition: Bounds(0, 0) for partition in partitions}

    def position(self, partition: int) -> int | None:
        return 0

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        return iter(())

    def close(self) -> None:
        return


class _Nowhere(Writer):
    """Write nothing."""

    def write(self, topic: str, outgoing: Outgoing) -> None:
        return

    def flush(self) -> None:
        return

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        return None

    def close(self) -> None:
        return
