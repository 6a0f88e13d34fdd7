"""Anonymise windows over all partitions: the second dataflow, which has one owner.

internal log ──▶ read ──▶ merge ──▶ releases ──▶ sink
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import Standing, Told
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.log_reading import Entries, LogPlan
from fugu.dataflows.flows.plan import Shard
from fugu.dataflows.flows.warming import warm_up_windows
from fugu.dataflows.publishing.envelope import Publisher, nothing_in
from fugu.dataflows.records.visits import AnonymousRecords
from fugu.dataflows.stages.anonymizing import Anonymizing, OpenWindows
from fugu.dataflows.stages.windows import AnonymousWindow
from fugu.dataflows.state.row_log import BlockLog

_PEOPLE = "people"
"""Names the logs of people of windows that are not complete."""


@dataclass(frozen=True, kw_only=True)
class AnonymizingPlan(LogPlan[list[AnonymousWindow]]):
    """Hold the plan of the merge of people."""

    merge: Anonymizing
    records: AnonymousRecords

    kept: ClassVar[str] = _PEOPLE

    def build(self) -> Shard:
        """Return the dataflow, whose merge is compiled before the first window waits for it."""
        warm_up_windows()
        return super().build()

    def step(self) -> Callable[[bytes | None], "AnonymizeStep"]:
        """Return what makes the merge from its snapshot."""
        topic, rows = self.fingerprint.source_topic, self.directory.rows
        return partial(AnonymizeStep, self.merge, topic, rows, standing=self.metrics.standing)

    def released(self, merged: list[AnonymousWindow]) -> Outgoing:
        """Return the records of windows, each behind one that says what became of it."""
        return outgoing(merged, self.ticks, self.records, self.publisher)


def outgoing(
    windows: list[AnonymousWindow], ticks: Ticks, records: AnonymousRecords, publisher: Publisher
) -> Outgoing:
    """Return the records of the sanitized topic that say what is released of these windows.

    A record is named by its place in the release, whose order is drawn.
    """
    keys: list[bytes | None] = []
    values, places, numbers = list[bytes](), list[int](), list[int]()
    for window in windows:
        released = window.records or []
        start, end = ticks.end(window.tick - 1), ticks.end(window.tick)
        keys += [None, *(record.key.hex().encode() for record in released)]
        values.append(records.about(start, end, None if window.records is None else len(released)))
        values += [records.write(start, record.category, record.points) for record in released]
        places += range(len(released) + 1)
        numbers += [window.tick] * (len(released) + 1)
    names = [b"windows"] * len(values)
    parts = np.array(places, dtype=np.int64)
    return Outgoing(
        partition=0,
        keys=nothing_in(len(keys)) if publisher.key_policy == "none" else keys,
        values=values,
        headers=publisher.tick_headers(publisher.source, names, numbers, parts),
        timestamps=[ticks.end(tick) for tick in numbers],
        positions=numbers,
    )


class AnonymizeStep(StatefulBatchLogic[Entries, list[AnonymousWindow], bytes]):
    """Run the merge; its state points at the people of windows that are not complete."""

    def __init__(
        self,
        merge: Anonymizing,
        topic: str,
        directory: Path,
        content: bytes | None,
        standing: Standing | None = None,
    ) -> None:
        self._merge, self._topic, self._standing = merge, topic, standing
        self._people = BlockLog(directory, 0, OpenWindows(), of=_PEOPLE)
        self._state = merge.start() if content is None else merge.restored(content, self._loaded)
        self._people.table = self._state.open
        self._note()

    def on_batch(self, values: list[Entries]) -> tuple[list[list[AnonymousWindow]], bool]:
        """Take entries in, in the order of the log."""
        with without_values("merge", self._topic, 0, []):
            released = [
                window
                for entries in values
                for _, one in entries
                for window in self._merge(self._state, one)
            ]
        self._note()
        return [released], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """Return all that a step may change, and where the people are."""
        return self._state.encoded(self._people.append().decode())

    def _note(self) -> None:
        if self._standing is not None:
            last = dict(self._state.progress.last)
            self._standing.told = Told(self._merge.partitions, last)

    def _loaded(self, people: str) -> OpenWindows:
        self._people.load(people.encode())
        return self._people.table
