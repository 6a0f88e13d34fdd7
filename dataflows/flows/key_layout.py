"""Say where the stream of a key is: how many partitions and shards, and which partitioner."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.flows.found_partitioner import partitioner_of_reading
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.kafka.partitioner import Partitioner, partitions_of
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.operators.mechanism import Integers


@dataclass(frozen=True)
class KeyLayout:
    """Place keys."""

    partitions: int
    shards: int
    partitioner: Partitioner

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.partitions} partitions ({self.partitioner}) in {self.shards} shards"

    def homes(self, keys: Sequence[bytes]) -> Integers:
        """Return the partition of each key."""
        assert self.partitioner != "unchecked"
        return partitions_of(keys, self.partitions, self.partitioner)


def stored_layout(file: PipelineFile, stored: Fingerprint) -> KeyLayout:
    """Return the layout of a state; `StartRefused` if it reads records in another way, too."""
    partitioner = partitioner_of_reading(file, stored.reading)
    if partitioner is not None:
        return KeyLayout(stored.partitions, stored.shards, partitioner)
    raise StartRefused(
        f"{file.path} reads records in another way than its state: source.value, timestamp or "
        "dedupe, or operator.alphabet differ. Give the file as it was. Nothing was changed."
    )


def wanted_layout(pipeline: Pipeline, source: Topic) -> KeyLayout:
    """Return the layout that a pipeline file asks for."""
    partitioner = pipeline.source.partitioner
    assert partitioner != "auto"
    if pipeline.state.shards > source.partitions:
        raise ConfigurationError(
            f"state.shards: {pipeline.state.shards}, but topic {source.name} has "
            f"{source.partitions} partitions; write at most {source.partitions}"
        )
    return KeyLayout(source.partitions, pipeline.state.shards, partitioner)


def require_known_places(pipeline: Pipeline) -> None:
    """Refuse to move streams where nobody knows where their keys belong."""
    partitioner = pipeline.source.partitioner
    if partitioner in ("unchecked", "auto"):
        raise ConfigurationError(
            f"source.partitioner is {partitioner}, so nobody knows where keys belong. Write the "
            "partitioner of the producers: murmur2 (Java, kafka-python) or crc32 (librdkafka)"
        )
