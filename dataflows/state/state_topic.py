"""Begin a state in a compacted topic of Kafka, and say what a state there belongs to.

Partition i holds the chain of partition i of the source. The merge of an aggregate has one more
partition, behind these, and the reader of policies that change another one; both have a fingerprint
of their own. A fingerprint is the first record of every partition; whoever is given a partition
compares it before anything else.
"""

import time
from collections.abc import Sequence
from contextlib import closing, suppress

import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import ShutOut, StartRefused
from fugu.dataflows.kafka.client import (
    Bounds,
    Client,
    CopyClient,
    Entry,
    Reader,
    Topic,
    identity_of,
)
from fugu.dataflows.state.changelog import Place
from fugu.dataflows.state.fingerprint import Fingerprint, read_fingerprint
from fugu.dataflows.state.moved_state import MovedState
from fugu.dataflows.state.sealing import Sealing
from fugu.operators.secret import Secret

FINGERPRINT = b"fingerprint"
"""The key of the record that says what a partition belongs to."""
_CREATION_MILLISECONDS = 30_000
_COMMITTED_SECONDS = 1.0
"""Longer than Kafka takes to mark a commit in all partitions."""
_LAST_OFFSETS = 2
"""A state that was moved ends with the record that says so, and the mark of its transaction."""


class StateTopic:
    """Hold the state of a `pipeline` in a topic; whoever only looks has no `creator`.

    So many `partitions` from the `first` one on are those of one dataflow. With a secret, the
    records of chains are sealed.
    """

    def __init__(
        self,
        client: Client,
        topic: Topic,
        pipeline: str,
        creator: CopyClient | None,
        secret: Secret | None = None,
        *,
        partitions: int | None = None,
        first: int = 0,
    ) -> None:
        self.first = first
        self.partitions = topic.partitions if partitions is None else partitions
        self._secret = secret
        self.client, self.topic, self.pipeline, self._creator = client, topic, pipeline, creator
        self._sealing = None if secret is None else Sealing(secret, topic.identity)
        self._check = "" if secret is None else secret.check_value()

    def of_merge(self) -> "StateTopic":
        """Return what the same topic holds of the merge."""
        return self._beside(self.partitions)

    def of_policies(self) -> "StateTopic":
        """Return what the same topic holds of policies that change."""
        return self._beside(self.partitions + 1)

    def _beside(self, place: int) -> "StateTopic":
        return StateTopic(
            self.client,
            self.topic,
            self.pipeline,
            self._creator,
            self._secret,
            partitions=1,
            first=place,
        )

    def place(self, partition: int) -> int:
        """Return the partition of the topic that holds the chain of a partition that is read."""
        return self.first + partition

    @property
    def _places(self) -> list[int]:
        return [self.place(partition) for partition in range(self.partitions)]

    def sealed(self, partition: int, entries: Sequence[Entry]) -> list[Entry]:
        """Return the records that the topic holds, for those of a chain."""
        sealing = self._sealing
        if sealing is None:
            return [*entries]
        return [
            (key, None if value is None else sealing.sealed(partition, key, value))
            for key, value in entries
        ]

    def opened(self, partition: int, key: bytes, value: bytes) -> bytes:
        """Return the value of a record of a chain; `ValueError` if it was sealed elsewhere."""
        return value if self._sealing is None else self._sealing.opened(partition, key, value)

    def stored(self) -> Fingerprint | None:
        """Return what the state belongs to; None before it begins. Every partition must agree.

        Raises `StartRefused` where the state was moved to disk.
        """
        moved = self.moved()
        if moved is not None:
            raise moved.refusal(self.topic.name)
        found = self._found()
        if None in found and any(found):
            # Another copy begins the state now, which is seen in one partition after the other.
            time.sleep(_COMMITTED_SECONDS)
            found = self._found()
        if all(one is None for one in found):
            return None
        if None in found or len(set(found)) > 1:
            raise StartRefused(
                f"topic {self.topic.name}: partitions belong to different states, or to none. "
                "Records of the topic were removed, or somebody else writes to it. Restore it: "
                "starting without it would reset budgets."
            )
        assert found[0] is not None
        return self.read(found[0])

    def _found(self) -> list[bytes | None]:
        """Return what every partition says that it belongs to."""
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds(self._places)
            return [_first(reader, partition, bound) for partition, bound in bounds.items()]

    def holds_blocks(self) -> bool:
        """Return whether a partition holds records of a chain."""
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds(self._places)
            return any(
                Place.of(key) is not None and value is not None
                for partition, bound in bounds.items()
                for batch in reader.read_range(partition, bound.start, bound.end)
                for key, value in zip(batch.keys, batch.values, strict=True)
            )

    def moved(self) -> MovedState | None:
        """Return where the state was moved to, if it was.

        What was written behind is not looked at here; whoever takes a partition over reads all.
        """
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds([0])[0]
            first = max(bounds.start, bounds.end - _LAST_OFFSETS)
            last = _first(reader, 0, Bounds(first, bounds.end))
        return MovedState.of(last)

    def create(self, fingerprint: Fingerprint) -> Fingerprint:
        """Begin a state, unless another copy has just begun it; return what it belongs to."""
        if self._creator is None:
            return fingerprint
        if self.partitions != fingerprint.partitions:
            others = self.topic.partitions - self.partitions
            raise StartRefused(
                f"topic {self.topic.name} (state.topic) has {self.topic.partitions} partitions, "
                f"but {fingerprint.source_topic} has {fingerprint.partitions}. Delete it and "
                f"create it anew with {fingerprint.partitions + others}."
            )
        while True:
            # Whoever begins last shuts the others out, wherever they are; they look again.
            with suppress(ShutOut):
                return self._begun(self._creator, fingerprint)

    def _begun(self, creator: CopyClient, fingerprint: Fingerprint) -> Fingerprint:
        """Write what the state belongs to, or return what another copy has written."""
        identity = f"{identity_of(self.pipeline)}.creation"
        with closing(creator.copy_writer(identity, _CREATION_MILLISECONDS)) as writer:
            stored = self.stored()
            if stored is not None:
                return stored
            content = self._written(fingerprint)
            for partition in self._places:
                writer.put(self.topic.name, partition, [(FINGERPRINT, content)])
            writer.acknowledge()
            writer.commit()
            return fingerprint

    def read(self, content: bytes) -> Fingerprint:
        """Read the fingerprint record; `StartRefused` if it is of another topic, or damaged."""
        if (moved := MovedState.of(content)) is not None:
            raise moved.refusal(self.topic.name)
        try:
            said = orjson.loads(content)
            found = read_fingerprint(said["fingerprint"], f"the state in topic {self.topic.name}")
        except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError):
            raise StartRefused(
                f"topic {self.topic.name}: what it says it belongs to is damaged. Restore the "
                "topic."
            ) from None
        if said.get("topic") != self.topic.identity:
            raise StartRefused(
                f"topic {self.topic.name} was deleted and created again, or copied, since the "
                "state began. Restore the topic itself: starting without it would reset budgets."
            )
        if said.get("sealed", "") != self._check:
            raise StartRefused(
                f"topic {self.topic.name} is encrypted with another secret than state.encrypt "
                "names, or one of them is not encrypted. Restore the secret: without it the state "
                "cannot be read, and starting without the state would reset budgets."
            )
        return found

    def _written(self, fingerprint: Fingerprint) -> bytes:
        return orjson.dumps(
            {
                "topic": self.topic.identity,
                "sealed": self._check,
                "fingerprint": fingerprint.model_dump(),
            }
        )


def _first(reader: Reader, partition: int, bounds: Bounds) -> bytes | None:
    """Return the fingerprint in a partition, which is the first record there."""
    for batch in reader.read_range(partition, bounds.start, bounds.end):
        for key, value in zip(batch.keys, batch.values, strict=True):
            if key == FINGERPRINT and value is not None:
                return value
    return None
