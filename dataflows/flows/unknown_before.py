"""Find the records that were refused since the last snapshot because nobody knew their schema.

A replay refuses them again, whatever the registry knows by now: releases behind them were drawn,
and published, as if they were not there.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from fugu.dataflows.base.batches import Batch, Reason
from fugu.dataflows.flows.dead_letters import Choice, chosen_letters, genuine
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.records.registered import OF_UNKNOWN_SCHEMA

Unknown = Mapping[int, frozenset[int]]
"""Offsets of records, by partition."""
_CHOICE = Choice(Reason.UNKNOWN_SCHEMA)


def unknown_before(plan: Plan, begins: Mapping[int, int]) -> Unknown:
    """Return what dead letters say that stand behind these offsets of their topic."""
    topic, found = plan.fingerprint.dead_letters_topic, dict[int, frozenset[int]]()
    with closing(plan.client.reader(topic, headers=True)) as reader:
        for partition, bounds in reader.bounds(sorted(begins)).items():
            named: set[tuple[int, bytes | None]] = set()
            for batch in reader.read_range(partition, begins[partition], bounds.end):
                named |= chosen_letters(plan, _CHOICE, batch)
            if named:
                found[partition] = frozenset(genuine(plan, partition, named).tolist())
    return found


def as_decided(batch: Batch, unknown: Unknown) -> Batch:
    """Return a batch in which records that were refused before are refused again."""
    offsets = unknown.get(batch.partition)
    if not offsets or offsets.isdisjoint(batch.offsets):
        return batch
    pairs = zip(batch.offsets, batch.values, strict=True)
    values = [OF_UNKNOWN_SCHEMA if offset in offsets else value for offset, value in pairs]
    return replace(batch, values=values)
