"""Read the internal log of ticks: the second of two dataflows, which has one owner.

internal log ──▶ read ──▶ merge ──▶ releases ──▶ sink
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import bytewax.operators as op
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream, StatefulBatchLogic

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.flows.own_entries import OwnEntries
from fugu.dataflows.flows.plan import Output, Plan
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.stages.log_entries import Entry
from fugu.dataflows.state.recovery import resuming
from fugu.dataflows.state.row_block import read
from fugu.dataflows.state.row_log import require_whole

Entries = list[tuple[int, Entry]]
"""Entries of the log, and their offsets."""
Merged = TypeVar("Merged")
"""Hold what a batch of the log releases."""


@dataclass(frozen=True, kw_only=True)
class LogPlan(Plan, Generic[Merged]):
    """Hold the plan of a merge; its source is the internal log.

    What waits in it has a log of its own, named `kept`, at a place that the header of a snapshot
    says under that name.
    """

    ticks: Ticks

    kept: ClassVar[str]

    suffix: ClassVar[str] = ".merging"
    steps: ClassVar[list[str]] = ["log", "read", "merge", "releases", "sink"]
    merge_step: ClassVar[str] = "merge"

    @property
    def reads_headers(self) -> bool:
        """Return that entries bear seals."""
        return True

    @cached_property
    def seal(self) -> LogSeal:
        """Return what tells own entries of the log."""
        return LogSeal.by(self.publisher, self.fingerprint.source_identity)

    def items(self, batches: Stream[Batch]) -> KeyedStream[Merged]:
        """Read entries of the log, and release ticks that every partition has closed."""
        return op.stateful_batch(self.merge_step, op.map("read", batches, self._read), self.step())

    @abstractmethod
    def step(
        self,
    ) -> Callable[[bytes | None], StatefulBatchLogic[Entries, Merged, Any]]:
        """Return what makes the merge from its snapshot."""

    @abstractmethod
    def released(self, merged: Merged) -> Outgoing:
        """Return the records of the sanitized topic."""

    def outputs(self) -> list[Output]:
        """Return the sink."""
        topic, begin = self.fingerprint.sink_topic, self.fingerprint.sink_begin
        return [Output("releases", "sink", self._releases, topic, begin)]

    def require_whole_rows(self) -> None:
        """Raise what restoring the merge would refuse: a damaged snapshot, or what waits in it."""
        if self.directory.is_empty:
            return
        pointers = resuming(self.directory.recovery).pointers
        content = pointers.get((f"{self._flow}.{self.merge_step}", part_name(0)))
        if content is not None:
            header, _ = read(content)
            if place := header.get(self.kept):
                require_whole(self.directory.rows, place.encode(), self.kept)

    def _read(self, batch: Batch) -> tuple[str, Entries]:
        return part_name(0), self.entries(batch)

    def entries(self, batch: Batch) -> Entries:
        """Return the own entries of a batch of the log; say where there are others."""
        read = OwnEntries(self.fingerprint.source_topic, self.seal, self.metrics)
        return read(batch)

    def _releases(self, merged: Merged) -> Outgoing:
        with self.without_values("releases", 0, []):
            return self.released(merged)
