"""Begin a state in a compacted topic of Kafka, and say what a state there belongs to.

Partition i holds the chain of partition i of the source. The fingerprint is the first record of
every partition; whoever is given a partition compares it before anything else.
"""

from contextlib import closing

import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import ShutOut, StartRefused
from fugu.dataflows.kafka.client import Bounds, Client, CopyClient, Reader, Topic, identity_of
from fugu.dataflows.state.fingerprint import Fingerprint

FINGERPRINT = b"fingerprint"
"""The key of the record that says what a partition belongs to."""
_CREATION_MILLISECONDS = 30_000


class StateTopic:
    """Hold the state of a pipeline in a topic; whoever only looks has no `creator`."""

    def __init__(self, client: Client, topic: Topic, creator: CopyClient | None) -> None:
        self.client, self.topic, self._creator = client, topic, creator

    def stored(self) -> Fingerprint | None:
        """Return what the state belongs to; None before it begins. Every partition must agree."""
        with closing(self.client.reader(self.topic.name)) as reader:
            bounds = reader.bounds(list(range(self.topic.partitions)))
            found = [_first(reader, partition, bound) for partition, bound in bounds.items()]
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

    def create(self, fingerprint: Fingerprint) -> Fingerprint:
        """Begin a state, unless another copy has just begun it; return what it belongs to."""
        if self._creator is None:
            return fingerprint
        if self.topic.partitions != fingerprint.partitions:
            raise StartRefused(
                f"topic {self.topic.name} (state.topic) has {self.topic.partitions} partitions, "
                f"but {fingerprint.source_topic} has {fingerprint.partitions}. Delete it and "
                "create it anew with as many."
            )
        identity = f"{identity_of(fingerprint.pipeline)}.creation"
        while True:
            with closing(self._creator.copy_writer(identity, _CREATION_MILLISECONDS)) as writer:
                stored = self.stored()
                if stored is not None:
                    return stored
                content = self._written(fingerprint)
                for partition in range(self.topic.partitions):
                    writer.put(self.topic.name, partition, [(FINGERPRINT, content)])
                try:
                    writer.acknowledge()
                    writer.commit()
                except ShutOut:
                    continue
                return fingerprint

    def read(self, content: bytes) -> Fingerprint:
        """Read the fingerprint record; `StartRefused` if it is of another topic, or damaged."""
        try:
            said = orjson.loads(content)
            found = Fingerprint.model_validate(said["fingerprint"])
        except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError):
            raise StartRefused(
                f"topic {self.topic.name}: what it says it belongs to is damaged, or of another "
                "version of Fugu. Restore the topic, or run the version that wrote it."
            ) from None
        if said.get("topic") != self.topic.identity:
            raise StartRefused(
                f"topic {self.topic.name} was deleted and created again, or copied, since the "
                "state began. Restore the topic itself: starting without it would reset budgets."
            )
        return found

    def _written(self, fingerprint: Fingerprint) -> bytes:
        return orjson.dumps({"topic": self.topic.identity, "fingerprint": fingerprint.model_dump()})


def _first(reader: Reader, partition: int, bounds: Bounds) -> bytes | None:
    """Return the fingerprint in a partition, which is the first record there."""
    for batch in reader.read_range(partition, bounds.start, bounds.end):
        for key, value in zip(batch.keys, batch.values, strict=True):
            if key == FINGERPRINT and value is not None:
                return value
    return None
