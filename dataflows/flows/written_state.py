"""Write a state that was kept elsewhere into a directory, in the form that a graceful stop leaves.

bytewax itself writes its recovery store: a dataflow with the steps of the pipeline runs once over
one item for each partition, and its parts have nothing but their snapshots. So a start resumes as
after a graceful stop, and `--finish` finds what streams hold back.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from bytewax.recovery import RecoveryConfig
from bytewax.run import cli_main

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.flows.plan import flow_name
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.stages.merging import MergeState
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.lease_file import LeaseFile
from fugu.dataflows.state.next_directory import Columns
from fugu.dataflows.state.recovery import Resuming, resuming
from fugu.dataflows.state.row_log import BlockLog, RowLog
from fugu.dataflows.state.row_table import RowTable

Offsets = Mapping[int, int]
Held = TypeVar("Held")


@dataclass(frozen=True, kw_only=True)
class _Stopped(ABC):
    """Hold source positions of the partitions of a dataflow, and where its sinks end.

    `suffix` tells it from others of the same pipeline; `ends` are offsets by the name of the step
    that writes them.
    """

    fingerprint: Fingerprint
    positions: Offsets
    ends: Mapping[str, Offsets]
    source_step: str
    stage_step: str = ""
    suffix: str = ""

    def write(self, exchange: Exchange, directory: StateDirectory) -> None:
        """Write what is to take the place of a directory, durably; it keeps its claims."""
        new, own = exchange.new(directory.path), self.fingerprint.own_partitions
        LeaseFile.read(directory.path).write(new.path)
        new.create(self.fingerprint)
        self._write_store(new.recovery, {p: self._snapshot(new.rows, p) for p in own})
        new.note_stop({p: self.positions[p] for p in own})

    @abstractmethod
    def _snapshot(self, rows: Path, partition: int) -> bytes:
        """Write what the stage keeps of a partition; return its snapshot."""

    def _write_store(self, store: Path, pointers: Mapping[int, bytes]) -> None:
        name = flow_name(f"{self.fingerprint.pipeline}{self.suffix}")
        flow, own = Dataflow(name), self.fingerprint.own_partitions
        source = _Source(_named(self.positions, own), _named(pointers, own))
        items = op.input(self.source_step, flow, source)
        stage, pointing = self.stage_step, pointers if self.stage_step else {}
        kept = op.stateful_batch(stage, items, _Pointer) if stage else items
        for step, ends in self.ends.items():
            op.output(step, kept, _Sink(_named(ends, own)))
        config = RecoveryConfig(str(store))
        cli_main(flow, epoch_interval=timedelta(days=1), recovery_config=config)
        steps = {self.source_step: self.positions, **self.ends}
        wanted = Resuming(
            {(f"{name}.{s}", part_name(p)): at[p] for s, at in steps.items() for p in own},
            {(f"{name}.{stage}", part_name(p)): at for p, at in pointing.items()},
        )
        if resuming(store) != wanted:
            raise FuguError(f"bytewax has written another recovery store {store} than it was told")


@dataclass(frozen=True, kw_only=True)
class StoppedShard(_Stopped):
    """Hold the tables of the partitions of a shard, of these `columns`."""

    tables: Mapping[int, RowTable]
    columns: Columns

    def _snapshot(self, rows: Path, partition: int) -> bytes:
        log = RowLog(rows, partition, *self.columns)
        log.table = self.tables[partition]
        return log.append()


@dataclass(frozen=True, kw_only=True)
class StoppedMerge(_Stopped):
    """Hold the state of the merge of an aggregate, whose sums go into a log `kept`."""

    state: MergeState
    kept: str

    def _snapshot(self, rows: Path, partition: int) -> bytes:
        log = BlockLog(rows, partition, self.state.open, of=self.kept)
        return self.state.encoded(log.append().decode())


@dataclass(frozen=True, kw_only=True)
class StoppedReader(_Stopped):
    """Hold nothing but how far something is read, and written on."""

    def _snapshot(self, rows: Path, partition: int) -> bytes:
        return b""


class _Source(FixedPartitionedSource[tuple[str, bytes], int]):
    """Emit the pointer of every partition once, and stand at its position."""

    def __init__(self, positions: Mapping[str, int], pointers: Mapping[str, bytes]) -> None:
        self._positions, self._pointers = positions, pointers

    def list_parts(self) -> list[str]:
        return list(self._positions)

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "_SourcePart":
        item = (for_part, self._pointers[for_part])
        return _SourcePart([item], self._positions[for_part])


class _SourcePart(StatefulSourcePartition[tuple[str, bytes], int]):
    def __init__(self, items: list[tuple[str, bytes]], position: int) -> None:
        self._items, self._position = items, position

    def next_batch(self) -> list[tuple[str, bytes]]:
        if not self._items:
            raise StopIteration
        items, self._items = self._items, []
        return items

    def snapshot(self) -> int:
        return self._position


class _Pointer(StatefulBatchLogic[bytes, bytes, bytes]):
    """Keep the pointer that comes."""

    def __init__(self, resume_state: bytes | None) -> None:
        self._pointer = resume_state

    def on_batch(self, values: list[bytes]) -> tuple[list[bytes], bool]:
        [self._pointer] = values
        return values, StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        assert self._pointer is not None
        return self._pointer


class _Sink(FixedPartitionedSink[bytes, int]):
    """Write nothing, and stand at the end of every partition."""

    def __init__(self, ends: Mapping[str, int]) -> None:
        self._ends = ends
        self._indices = {name: index for index, name in enumerate(ends)}

    def list_parts(self) -> list[str]:
        return list(self._ends)

    def part_fn(self, item_key: str) -> int:
        return self._indices[item_key]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "_SinkPart":
        return _SinkPart(self._ends[for_part])


class _SinkPart(StatefulSinkPartition[bytes, int]):
    def __init__(self, end: int) -> None:
        self._end = end

    def write_batch(self, values: list[bytes]) -> None:
        return

    def snapshot(self) -> int:
        return self._end


def _named(values: Mapping[int, Held], own: Iterable[int]) -> dict[str, Held]:
    """Return values by the names of parts, in numeric order."""
    return {part_name(partition): values[partition] for partition in own}
