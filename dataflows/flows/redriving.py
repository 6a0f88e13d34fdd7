"""Drive refused records again: read them at their coordinates, and release each one with its row.

A record is drawn at its own position, topic and partition and offset, as if it had been accepted;
its row is that of its key, wherever that lives now. Nothing is published here: what is to be, is
handed on as complete records.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, Outgoing, Sanitized
from fugu.dataflows.flows.dead_letters import Choice, chosen_letters, genuine
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.partitioner import partitions_of
from fugu.dataflows.state.redrive import Output, Tally
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import column_of
from fugu.operators.mechanism import Integers, Kind

Put = Callable[[Output, Outgoing], None]
Offsets = Mapping[int, Integers]
"""Sorted offsets of records, by partition of the source."""


def chosen_records(plan: StreamsPlan, choice: Choice, driven: Offsets, tally: Tally) -> Offsets:
    """Return the records whose dead letters are chosen, and that were never driven before.

    A dead letter is believed only if its name is the one that this pipeline gives to it with its
    present key: whoever writes to the topic could have a record released that was released before.
    """
    chosen: dict[int, Integers] = {}
    topic = plan.fingerprint.dead_letters_topic
    partitions = list(range(plan.fingerprint.partitions))
    with closing(plan.client.reader(topic, headers=True)) as reader:
        for partition, bound in reader.bounds(partitions).items():
            named: set[tuple[int, bytes | None]] = set()
            for batch in reader.read_range(partition, bound.start, bound.end):
                named |= chosen_letters(plan, choice, batch)
            own = genuine(plan, partition, named)
            tally.foreign += len({offset for offset, _ in named}.difference(own.tolist()))
            new = np.setdiff1d(own, driven.get(partition, own[:0]))
            if len(new):
                chosen[partition] = new
    tally.records = sum(map(len, chosen.values()))
    return chosen


@dataclass(frozen=True)
class Redriving:
    """Release chosen records with the rows of all partitions, and hand on what is published."""

    plan: StreamsPlan
    tables: Mapping[int, RowTable]
    put: Put
    tally: Tally
    at_home: bool = False

    def drive(self, chosen: Offsets) -> Offsets:
        """Drive all records, by partition and offset; return those that had their turn.

        What is refused once more, and what is gone from the source, may be tried again.
        """
        return {
            partition: np.sort(np.array(self._drive(partition, offsets), dtype=np.int64))
            for partition, offsets in sorted(chosen.items())
        }

    def _drive(self, partition: int, offsets: Integers) -> list[int]:
        read, done = 0, list[int]()
        for batch in self._records(partition, offsets):
            read += len(batch.offsets)
            with self.plan.without_values("redrive", partition, batch.offsets):
                decoded = self.plan.codec.decode(batch)
                refused, left = decoded.dead, list[int]()
                for home, own in self._by_home(decoded):
                    if self.at_home and home != partition:
                        left += own.offsets
                    else:
                        refused.extend(self._release(home, own))
            for reason in map(str, refused.reasons):
                self.tally.refused[reason] = self.tally.refused.get(reason, 0) + 1
            had_no_turn = [*refused.offsets, *left]
            self.tally.records -= len(left)
            done += np.setdiff1d(column_of(batch.offsets), had_no_turn).tolist()
        self.tally.gone += len(offsets) - read
        return done

    def _records(self, partition: int, offsets: Integers) -> Iterator[Batch]:
        """Yield the records that are still there, in order."""
        topic, headers = self.plan.fingerprint.source_topic, self.plan.reads_headers
        with closing(self.plan.client.reader(topic, headers=headers)) as reader:
            bound = reader.bounds([partition])[partition]
            first, end = max(int(offsets[0]), bound.start), min(int(offsets[-1]) + 1, bound.end)
            if first >= end:
                return
            for batch in reader.read_range(partition, first, end):
                places = np.flatnonzero(np.isin(column_of(batch.offsets), offsets))
                if len(places):
                    yield batch.at(places)

    def _by_home(self, decoded: Decoded) -> Iterator[tuple[int, Decoded]]:
        """Yield accepted records by the partition that holds the row of their key."""
        if not decoded.keys:
            return
        admission = self.plan.stage.admission
        if admission.partitioner == "unchecked":
            homes: Integers = np.full(len(decoded.keys), decoded.partition, dtype=np.int64)
        else:
            homes = partitions_of(decoded.keys, admission.partitions, admission.partitioner)
        for home in np.unique(homes).tolist():
            own = decoded.at(np.flatnonzero(homes == home))
            yield home, replace(own, dead=DeadLetters())

    def _release(self, home: int, decoded: Decoded) -> DeadLetters:
        """Release records with rows of their home, which was computed; return those refused."""
        stage, publisher = self.plan.stage, self.plan.publisher
        at_home = replace(stage, admission=replace(stage.admission, partitioner="unchecked"))
        sanitized = at_home(decoded, self.tables[home])
        self._count(decoded, sanitized)
        self.put("sink", replace(publisher.releases(sanitized), partition=home))
        if self.plan.ledger is not None:
            self.put("ledger", publisher.spending(sanitized, home))
        return sanitized.dead

    def _count(self, decoded: Decoded, sanitized: Sanitized) -> None:
        kinds = sanitized.releases.kinds
        repeated = 0 if kinds is None else int(np.count_nonzero(kinds == Kind.REPEATED))
        shown = len(sanitized.offsets)
        self.tally.repeated += repeated
        self.tally.released += shown - repeated
        self.tally.suppressed += len(decoded.offsets) - shown - len(sanitized.dead.offsets)
