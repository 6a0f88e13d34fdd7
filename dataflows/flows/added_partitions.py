"""Go on with the partitions that a state knows, after others were added to the source topic.

Kafka then sends keys elsewhere. A key that stays goes on. A key that moves has its budget in
another partition, so its records are refused as wrong_partition, and partitions that were added are
not read: nobody gets a second budget. `fugu state repartition` moves the rows after them.
"""

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.state_directories import stored_fingerprint
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.pipeline.config import PipelineFile


def partitions_begun(file: PipelineFile) -> int | None:
    """Return how many partitions the source had when the pipeline began; None before that."""
    stored = stored_fingerprint(file)
    return None if stored is None else stored.partitions


def added_partitions(file: PipelineFile, source: Topic, begun: int | None) -> str | None:
    """Return what is to be said about partitions that were added since then, if there are any.

    `StartRefused` where nobody knows which keys have moved.
    """
    if begun is None or source.partitions <= begun:
        return None
    has = f"topic {source.name} has {source.partitions} partitions, and this pipeline knows {begun}"
    if file.pipeline.source.partitioner == "unchecked":
        raise StartRefused(
            f"{has}. Keys have moved, and source.partitioner is unchecked, so a key that moved "
            "would get a second budget. Write the partitioner of the producers (murmur2 or crc32) "
            "and run fugu state repartition."
        )
    what = (
        f"{has}: records of keys that moved are refused as wrong_partition, and partitions from "
        f"{begun} on are not read. "
    )
    if file.pipeline.state.in_kafka:
        return f"{what}A state in Kafka cannot be moved to other partitions yet"
    if file.pipeline.source.partitions == "follow":
        return (
            f"{what}A process that runs all shards follows by itself once it has read what is "
            f"there; otherwise, stop the pipeline and run fugu state repartition {file.path}"
        )
    return f"{what}Stop the pipeline and run fugu state repartition {file.path}"
