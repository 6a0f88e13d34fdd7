"""Find out which partitioner the producers of a topic use, from the partitions of its newest keys.

One user is one stream only if all records of a user meet in one partition, so Fugu has to know.
What is found when a pipeline begins holds from then on; `fugu state repartition` changes it.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import get_args

import numpy as np

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.state_directories import stored_fingerprint
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.partitioner import Hash, Partitioner, partitions_of
from fugu.dataflows.kafka.passing_reader import PassingReader
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.state.fingerprint import Fingerprint

_LOOKED_AT = 500
"""Count the newest records of each partition whose keys are compared."""
_CLEAR = 0.95
"""Keys may be older than an extension of the topic, or of a producer that is gone."""
_CHOICE = "murmur2 for producers in Java and for kafka-python, crc32 for librdkafka"


@dataclass(frozen=True)
class KeySample:
    """Count different keys of a topic, and those that are where a partitioner sends them."""

    topic: str
    partitions: int
    keys: int
    follow: dict[Hash, int]

    @property
    def fitting(self) -> list[Hash]:
        """Return the partitioners that nearly all keys follow."""
        return [name for name, count in self.follow.items() if count >= _CLEAR * self.keys]

    @property
    def in_words(self) -> str:
        """Return how many keys follow which one."""
        counts = ", ".join(f"{count:,} follow {name}" for name, count in self.follow.items())
        return f"of {self.keys:,} keys in {self.partitions} partitions of {self.topic}, {counts}"

    @property
    def choice(self) -> tuple[Hash, str]:
        """Return the partitioner and the reason; `StartRefused` if keys follow none of them."""
        if self.keys and not self.fitting:
            raise StartRefused(
                f"source.partitioner: {self.in_words}. Producers use several partitioners, or one "
                "of their own. Write the one whose keys are to be released (all others become "
                "dead letters), or, if each key stays in one partition, partitioner: unchecked. "
                "Where users are in a field, source.key.repartition: true puts them in order."
            )
        if self.partitions == 1:
            return "murmur2", f"{self.topic} has one partition, where all partitioners are alike"
        if len(self.fitting) == 1:
            return self.fitting[0], self.in_words
        known = self.in_words if self.keys else f"{self.topic} holds no keys yet"
        return "murmur2", f"{known}; if that is wrong, write source.partitioner: {_CHOICE}"


def sampled_keys(client: Client, source: Topic, codec: Codec) -> KeySample:
    """Look at the newest records of every partition."""
    keys, follow = 0, dict.fromkeys(get_args(Hash), 0)
    bounds = bounds_of(client, source, list(range(source.partitions)))
    looking = client.reader(source.name, headers=codec.reads_headers)
    with closing(PassingReader(source.name, looking)) as reader:
        for partition, bound in bounds.items():
            first = max(bound.start, bound.end - _LOOKED_AT)
            found = {
                key
                for batch in reader.read_range(partition, first, bound.end)
                for key in codec.keys_of(batch)
                if key is not None
            }
            keys += len(found)
            for name in follow:
                follow[name] += _count(sorted(found), source.partitions, name, partition)
    return KeySample(source.name, source.partitions, keys, follow)


def with_partitioner(
    file: PipelineFile,
    client: Client,
    source: Topic | None,
    begun: Fingerprint | None,
    codec: Codec,
) -> tuple[PipelineFile, str | None]:
    """Return the file with a partitioner in the place of `auto`, and why it is that one.

    `begun` is what a state that is there belongs to.
    """
    if file.pipeline.source.is_repartitioned:
        return replacing_partitioner(file, "murmur2"), None
    known = _begun_with(file, begun)
    if known.pipeline.source.partitioner != "auto":
        return known, None
    if source is None:
        return replacing_partitioner(file, "murmur2"), None
    found, why = sampled_keys(client, source, codec).choice
    return replacing_partitioner(file, found), f"{found}: {why}"


def as_begun(file: PipelineFile) -> PipelineFile:
    """Return the file with the partitioner that its state was begun with, if it says `auto`."""
    return _begun_with(file, stored_fingerprint(file))


def _begun_with(file: PipelineFile, begun: Fingerprint | None) -> PipelineFile:
    if file.pipeline.source.partitioner != "auto":
        return file
    found = None if begun is None else partitioner_of_reading(file, begun.reading)
    return file if found is None else replacing_partitioner(file, found)


def partitioner_of_reading(file: PipelineFile, reading: str) -> Partitioner | None:
    """Return the partitioner with which a file has the digest of reading of a state.

    None: it reads records in another way.
    """
    for partitioner in get_args(Partitioner):
        if reading == reading_digest(replacing_partitioner(file, partitioner).pipeline):
            found: Partitioner = partitioner
            return found
    return None


def replacing_partitioner(file: PipelineFile, partitioner: Partitioner) -> PipelineFile:
    """Return the file with this partitioner."""
    source = file.pipeline.source.model_copy(update={"partitioner": partitioner})
    return file.replacing(file.pipeline.model_copy(update={"source": source}))


def _count(keys: Sequence[bytes], partitions: int, name: Hash, partition: int) -> int:
    return int(np.count_nonzero(partitions_of(keys, partitions, name) == partition)) if keys else 0
