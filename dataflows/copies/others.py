"""Find what others have written to a state topic, where only this copy may write."""

import logging
from contextlib import closing
from dataclasses import dataclass

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.state_topic import Put, StateTopic

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Others:
    """Hold how many records others have written, and the keys that they used."""

    count: int = 0
    keys: frozenset[bytes] = frozenset()


def others_between(
    state: StateTopic, partition: int, expected: int, put: Put, marks: int = 0
) -> Others:
    """Return what others have written to a partition of a state, where this copy has put records
    into a transaction that is open.

    They were expected at an offset, behind so many marks of this copy. What others write before a
    mark moves it on, so that they may be at its offset.

    Raises `StartRefused` if something of it is committed state: then another owner spends the
    budgets. What does not bear the seal of the pipeline is of no owner, and counts for nothing.
    """
    if put.end - expected == put.written:
        return Others()
    topic, start = state.topic.name, expected - marks
    with closing(state.client.reader(topic)) as reader:
        bounds = reader.bounds([partition])[partition]
        for batch in reader.read_range(partition, start, min(put.end, bounds.end)):
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                if key and value and state.is_own(partition, int(offset), key, value):
                    raise StartRefused(
                        f"two_owners: topic {topic}, partition {partition}: something else has "
                        f"committed state from offset {start} on. Two owners spend one budget "
                        "twice. Find and stop the other, which does not keep to the consumer group."
                    )
    keys = list[bytes | None]()
    with closing(state.client.reader(topic, committed=False)) as reader:
        for batch in reader.read_range(partition, start, put.end):
            keys += batch.keys
    count = len(keys) - put.written
    if count:
        say_foreign(topic, partition, count)
    used = frozenset(key for key in keys if key is not None)
    return Others(count, used) if count else Others()


def say_foreign(topic: str, partition: int, count: int) -> None:
    """Warn of records that count for nothing."""
    log.warning(
        "topic %s, partition %d: %d records were not written there by this pipeline, and do not "
        "count; let the user of this pipeline alone write to the state",
        topic,
        partition,
        count,
        extra={"topic": topic, "partition": partition},
    )
