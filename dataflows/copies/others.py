"""Find what others have written to a state topic, where only this copy may write."""

import logging
from contextlib import closing

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.state.changelog import Place
from fugu.dataflows.state.state_topic import FINGERPRINT

log = logging.getLogger(__name__)


def others_between(client: Client, topic: str, partition: int, start: int, end: int) -> int:
    """Count the records between two offsets, which nobody but others can have written.

    Raises `StartRefused` if one of them is committed state: then somebody else spends the budgets.
    """
    if start >= end:
        return 0
    with closing(client.reader(topic)) as reader:
        bounds = reader.bounds([partition])[partition]
        for batch in reader.read_range(partition, start, min(end, bounds.end)):
            if any(key == FINGERPRINT or Place.of(key) for key in batch.keys):
                raise StartRefused(
                    f"two_owners: topic {topic}, partition {partition}: something else has "
                    f"committed state from offset {start} on. Two owners spend one budget twice. "
                    "Find and stop the other, which does not keep to the consumer group."
                )
    with closing(client.reader(topic, committed=False)) as reader:
        found = sum(len(batch.offsets) for batch in reader.read_range(partition, start, end))
    if found:
        log.warning(
            "topic %s, partition %d: %d records are not of this copy, and do not count; nobody "
            "else may write to the state",
            topic,
            partition,
            found,
            extra={"topic": topic, "partition": partition},
        )
    return found
