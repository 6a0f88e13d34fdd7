"""Say what a copy does with what it reads: bound or sanitize records, merge partial sums, or take
changes of policies in."""

from abc import ABC, abstractmethod
from typing import Any

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.copies.last_change import LastChange
from fugu.dataflows.copies.merge_table import MergeTable
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import Changes, PoliciesPlan
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.stages.stateful_step import MeasuredStage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.temporal.temporal_perturbation import End

CopiedTable = RowTable | MergeTable | LastChange
"""Hold what a copy keeps of a partition."""


class Work(ABC):
    """Do what a plan says with the tables of the partitions that a copy owns."""

    @abstractmethod
    def decoded(self, batch: Batch) -> Any:
        """Return what is read of a batch."""

    @abstractmethod
    def made(self, decoded: Any, table: Any) -> Any:
        """Return what becomes of a batch, by the table of its partition."""

    @abstractmethod
    def resumed(self, partition: int, table: Any) -> None:
        """Show a table that was read back."""

    @abstractmethod
    def written(self, partition: int, table: Any) -> None:
        """Show a table whose changes are committed."""

    @abstractmethod
    def forget(self, partition: int) -> None:
        """Drop what is shown of a partition that another copy owns now."""

    @abstractmethod
    def finish(self, partition: int, table: Any, end: End) -> Any:
        """Let out or discard what was held back, after the last record."""


def work_of(plan: Plan) -> Work:
    """Return the work of a plan."""
    if isinstance(plan, MergingPlan):
        return _Merge(plan)
    if isinstance(plan, PoliciesPlan):
        return _Changes(plan)
    assert isinstance(plan, PartitionsPlan)
    return _Records(plan)


def fresh_table(plan: Plan) -> CopiedTable:
    """Return what a partition begins with."""
    if isinstance(plan, MergingPlan):
        return MergeTable(plan.merge, plan.merger)
    if isinstance(plan, PoliciesPlan):
        return LastChange()
    assert isinstance(plan, PartitionsPlan)
    return RowTable(plan.stage.start, plan.stage.ends)


class _Records(Work):
    """Hand records of the source to a stage."""

    def __init__(self, plan: PartitionsPlan[Any]) -> None:
        self._plan, self._topic = plan, plan.fingerprint.source_topic
        self._stage = MeasuredStage(plan.stage, self._topic, plan.metrics)

    def decoded(self, batch: Batch) -> Any:
        return self._plan.decoded(batch)

    def made(self, decoded: Any, table: Any) -> Any:
        return self._stage.sanitize(decoded, table)

    def resumed(self, partition: int, table: Any) -> None:
        self._stage.resumed(partition, table)
        if isinstance(self._plan, StreamsPlan):
            self._plan.show_limit(partition)

    def written(self, partition: int, table: Any) -> None:
        self._stage.written(partition, table)

    def forget(self, partition: int) -> None:
        self._plan.metrics.standing.forget(self._topic, partition)

    def finish(self, partition: int, table: Any, end: End) -> Any:
        return self._stage.finish(partition, table, end)


class _Merge(Work):
    """Hand entries of the internal log to the merge."""

    def __init__(self, plan: MergingPlan) -> None:
        self._plan, self._topic = plan, plan.fingerprint.source_topic

    def decoded(self, batch: Batch) -> Any:
        return self._plan.entries(batch)

    def made(self, decoded: Any, table: Any) -> Any:
        return table.merger(decoded)

    def resumed(self, partition: int, table: Any) -> None:
        """Let the merge begin, which shows how far it is."""
        table.merger.show()

    def written(self, partition: int, table: Any) -> None:
        """Show nothing: the merge has no rows."""

    def forget(self, partition: int) -> None:
        standing = self._plan.metrics.standing
        standing.positions.pop((self._topic, partition), None)
        standing.told = None

    def finish(self, partition: int, table: Any, end: End) -> Any:
        raise TypeError("a merge holds nothing back")


class _Changes(Work):
    """Read changes of policies, which the merge remembers."""

    def __init__(self, plan: PoliciesPlan) -> None:
        self._plan, self._topic = plan, plan.fingerprint.source_topic

    def decoded(self, batch: Batch) -> Changes:
        return self._plan.changes_of(batch)

    def made(self, decoded: Any, table: Any) -> Any:
        return table.chained(decoded)

    def resumed(self, partition: int, table: Any) -> None:
        """Show nothing."""

    def written(self, partition: int, table: Any) -> None:
        """Show nothing."""

    def forget(self, partition: int) -> None:
        self._plan.metrics.standing.positions.pop((self._topic, partition), None)

    def finish(self, partition: int, table: Any, end: End) -> Any:
        raise TypeError("changes of policies hold nothing back")
