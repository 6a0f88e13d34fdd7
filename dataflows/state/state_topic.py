"""Begin a state in a compacted topic of Kafka, and say what a state there belongs to.

Partition i holds the chain of partition i of the source. The merge of an aggregate has one more
partition, behind these, and the reader of policies that change another one; both have a fingerprint
of their own. A fingerprint is the first record of every partition; whoever is given a partition
compares it before anything else.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import KafkaUnavailable, ShutOut, StartRefused
from fugu.dataflows.kafka.client import (
    Bounds,
    Client,
    CopyClient,
    CopyWriter,
    Entry,
    Reader,
    Topic,
    identity_of,
)
from fugu.dataflows.state.changelog import Place
from fugu.dataflows.state.fingerprint import Fingerprint, read_fingerprint
from fugu.dataflows.state.moved_state import MovedState
from fugu.dataflows.state.sealing import Sealing
from fugu.operators.randomness import Secret

FINGERPRINT = b"fingerprint"
"""The key of the record that says what a partition belongs to."""
_CREATION_MILLISECONDS = 30_000
_COMMITTED_SECONDS = 1.0
"""Longer than Kafka takes to mark a commit in all partitions."""
_LAST_OFFSETS = 2
"""A state that was moved ends with the record that says so, and the mark of its transaction."""
_ATTEMPTS = 10
"""So often records are written again behind those of others that came between."""


@dataclass(frozen=True)
class Put:
    """Say where a partition ends with what was put, and how many records that took."""

    end: int
    written: int


class StateTopic:
    """Hold the state of a `pipeline` in a topic; whoever only looks has no `creator`.

    So many `partitions` from the `first` one on are those of one dataflow. Every record is sealed
    by the `secret`, and with `hiding` those of chains are encrypted. A record counts at the offset
    alone that it was sealed for.
    """

    def __init__(
        self,
        client: Client,
        topic: Topic,
        pipeline: str,
        creator: CopyClient | None,
        secret: Secret,
        hiding: Secret | None = None,
        *,
        partitions: int | None = None,
        first: int = 0,
    ) -> None:
        self.first = first
        self.partitions = topic.partitions if partitions is None else partitions
        self._secret, self._hiding = secret, hiding
        self.client, self.topic, self.pipeline, self._creator = client, topic, pipeline, creator
        self._sealing = Sealing(topic.identity, secret, hiding)
        self._check = "" if hiding is None else hiding.check_value()

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
            self._hiding,
            partitions=1,
            first=place,
        )

    def place(self, partition: int) -> int:
        """Return the partition of the topic that holds the chain of a partition that is read."""
        return self.first + partition

    @property
    def _places(self) -> list[int]:
        return [self.place(partition) for partition in range(self.partitions)]

    def put(
        self,
        writer: CopyWriter,
        records: Mapping[int, Sequence[Entry]],
        ends: Mapping[int, int] | None = None,
    ) -> dict[int, Put]:
        """Write records into partitions of the topic, and await them; nothing is committed here.

        The partitions are believed to end at `ends`. Where something else came between, records
        are sealed and written once more behind it; those that are not at their offset never count.
        """
        name = self.topic.name
        expected = self.ends(records) if ends is None else {one: ends[one] for one in records}
        hidden = {one: self._hidden(one, entries) for one, entries in records.items()}
        written, pending = dict.fromkeys(records, 0), [*records]
        for _ in range(_ATTEMPTS):
            for one in pending:
                writer.put(name, one, self._sealed(one, expected[one], hidden[one]))
                written[one] += len(hidden[one])
            writer.acknowledge()
            shifted = list[int]()
            for one in pending:
                end = writer.acknowledged_end(name, one)
                assert end is not None
                if end != expected[one] + len(hidden[one]):
                    shifted.append(one)
                expected[one] = end
            pending = shifted
            if not pending:
                return {one: Put(expected[one], written[one]) for one in records}
        raise KafkaUnavailable(
            f"topic {name}, partition {pending[0]}: something else writes there all the time, so "
            "that the state cannot be written. Find and stop it; let the user of this pipeline "
            "alone write to the topic. Nothing was committed; the next start goes on."
        )

    def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return where partitions of the topic end now, open transactions included."""
        with closing(self.client.reader(self.topic.name, committed=False)) as reader:
            return {one: bound.end for one, bound in reader.bounds([*partitions]).items()}

    def opened(self, partition: int, offset: int, key: bytes, content: bytes) -> bytes:
        """Return the value of a record; `ValueError` where the pipeline did not write it there."""
        value = self._sealing.unsealed(partition, offset, key, content)
        return value if key == FINGERPRINT else self._sealing.shown(partition, key, value)

    def is_own(self, partition: int, offset: int, key: bytes, content: bytes | None) -> bool:
        """Return whether the pipeline wrote a record, which has a value, at this place."""
        if content is None:
            return False
        try:
            self._sealing.unsealed(partition, offset, key, content)
        except ValueError:
            return False
        return True

    def _hidden(self, partition: int, entries: Sequence[Entry]) -> list[Entry]:
        hide = self._sealing.hidden
        return [
            (key, value if value is None or key == FINGERPRINT else hide(partition, key, value))
            for key, value in entries
        ]

    def _sealed(self, partition: int, begin: int, entries: Sequence[Entry]) -> list[Entry]:
        return [
            (key, None if value is None else self._sealing.sealed(partition, at, key, value))
            for at, (key, value) in enumerate(entries, begin)
        ]

    def stored(self) -> Fingerprint | None:
        """Return what the state belongs to; None before it begins. Every partition must agree.

        Raises `StartRefused` where the state was moved to disk, or another secret has sealed it.
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
            self._require_no_other_seal()
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
            return [self._first(reader, partition, bound) for partition, bound in bounds.items()]

    def _require_no_other_seal(self) -> None:
        """Raise `StartRefused` where a record says what the state belongs to, and is not sealed by
        the secret of this pipeline."""
        with closing(self.client.reader(self.topic.name)) as reader:
            for partition, bound in reader.bounds(self._places).items():
                for batch in reader.read_range(partition, bound.start, bound.end):
                    for at, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                        if key == FINGERPRINT and not self.is_own(partition, int(at), key, value):
                            raise self._other_seal(partition)

    def _other_seal(self, partition: int) -> StartRefused:
        return StartRefused(
            f"topic {self.topic.name}, partition {partition}: what it says it belongs to is not "
            "sealed by the secret of this pipeline for this place. If the secret is another one "
            "than before, restore it. If the topic was deleted and created again from a copy, "
            "restore the topic itself. If another pipeline has its state here, name another "
            "state.topic. If this pipeline has never run, somebody else writes here: delete the "
            "topic, and let the user of this pipeline alone write to it."
        )

    def holds_blocks(self) -> bool:
        """Return whether a partition holds records of a chain."""
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds(self._places)
            return any(
                Place.of(key) is not None and self.is_own(partition, int(at), key or b"", value)
                for partition, bound in bounds.items()
                for batch in reader.read_range(partition, bound.start, bound.end)
                for at, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True)
            )

    def moved(self) -> MovedState | None:
        """Return where the state was moved to, if it was.

        What was written behind is not looked at here; whoever takes a partition over reads all.
        """
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds([0])[0]
            first = max(bounds.start, bounds.end - _LAST_OFFSETS)
            last = self._first(reader, 0, Bounds(first, bounds.end))
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
            said = (FINGERPRINT, self._written(fingerprint))
            self.put(writer, {place: [said] for place in self._places})
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
                "sealed": self._check,
                "fingerprint": fingerprint.model_dump(),
            }
        )

    def _first(self, reader: Reader, partition: int, bounds: Bounds) -> bytes | None:
        """Return the first record in a partition that says what it belongs to."""
        for batch in reader.read_range(partition, bounds.start, bounds.end):
            for at, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                if key == FINGERPRINT and value is not None:
                    with suppress(ValueError):
                        return self.opened(partition, int(at), key, value)
        return None
