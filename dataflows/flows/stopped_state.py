"""Own the whole state of a pipeline over streams that stopped gracefully, to write it anew."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.plan import flow_name
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.recovery import resuming
from fugu.dataflows.state.row_log import partition_of, read_rows, resumed_blocks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism


@dataclass(frozen=True)
class StoppedState:
    """Hold the directories of all shards, and where every partition stopped."""

    directories: Sequence[StateDirectory]
    fingerprints: Sequence[Fingerprint]
    stopped_at: dict[str, int]

    @property
    def first(self) -> Fingerprint:
        """Return the fingerprint of shard 0; those of the others differ in their shard alone."""
        return self.fingerprints[0]

    def tables(self, file: PipelineFile, mechanism: Mechanism) -> dict[int, RowTable]:
        """Return the rows of every partition, as its last complete block left them."""
        return {
            partition: table
            for directory, stored in zip(self.directories, self.fingerprints, strict=True)
            for partition, table in newest_tables(file, mechanism, directory, stored)
        }


@contextmanager
def alone_in(root: StateDirectory) -> Iterator[None]:
    """Keep supervisors, and a second command of this kind, from running."""
    if not root.path.is_dir():
        raise ConfigurationError(f"there is no state in {root.path}; has the pipeline run yet?")
    root.lock()
    try:
        yield
    finally:
        root.unlock()


@contextmanager
def stopped_state(
    root: Path, *, after_crash: bool = False, of: type[StateDirectory] = StateDirectory
) -> Iterator[StoppedState]:
    """Own all shards that the state has, however many the pipeline file says.

    After a crash, partitions stand where a start would resume; otherwise a crash is refused.
    """
    found = map(of, sorted(root.glob("shard-[0-9][0-9][0-9][0-9]")))
    directories = [directory for directory in found if not directory.is_empty]
    with ExitStack() as locks:
        for directory in directories:
            directory.lock()
            locks.callback(directory.unlock)
        stored = [directory.stored() for directory in directories]
        fingerprints = [one for one in stored if one is not None]
        shards = [one.shard for one in fingerprints]
        if not fingerprints or shards != list(range(fingerprints[0].shards)):
            raise ConfigurationError(
                f"the state in {root} is not whole: a shard has not run yet, or is missing. Start "
                "the pipeline with all shards and stop it, or restore the state directory"
            )
        if after_crash:
            stopped_at = {
                partition: offset
                for directory, own in zip(directories, fingerprints, strict=True)
                for partition, offset in resumed_at(
                    directory, own, StreamsPlan.steps[0], own.source_begin
                ).items()
            }
        else:
            stopped_at = every_stop(root, directories, fingerprints[0].partitions)
        yield StoppedState(directories, fingerprints, stopped_at)


def resumed_at(
    directory: StateDirectory, stored: Fingerprint, step: str, begins: dict[str, int]
) -> dict[str, int]:
    """Return the offset at which a start would resume each part of a step."""
    offsets, flow = resuming(directory.recovery).offsets, flow_name(stored.pipeline)
    return {
        place: offsets.get((f"{flow}.{step}", part_name(int(place))), begin)
        for place, begin in begins.items()
    }


def crashed(root: Path) -> bool:
    """Return whether a shard of the state did not stop gracefully."""
    found = map(StateDirectory, sorted(root.glob("shard-[0-9][0-9][0-9][0-9]")))
    return any(one.stopped_at() is None for one in found if not one.is_empty)


def every_stop(
    path: Path, directories: Iterable[StateDirectory], partitions: int
) -> dict[str, int]:
    """Return where each partition of all shards stopped; `StartRefused` unless it is known."""
    stopped_at = {
        partition: offset
        for directory in directories
        for partition, offset in require_graceful_stop(directory).items()
    }
    if stopped_at.keys() != set(map(str, range(partitions))):
        raise StartRefused(
            f"{path}: the last stop does not say where every partition stood. Start the "
            "pipeline, let it catch up, stop it with SIGTERM or Ctrl-C, and try again."
        )
    return stopped_at


def require_graceful_stop(directory: StateDirectory) -> dict[str, int]:
    """Return the next source offset of every partition; `StartRefused` after a crash."""
    positions = directory.stopped_at()
    if positions is None:
        raise StartRefused(
            f"{directory.path}: the pipeline did not stop gracefully, or before it had caught up. "
            "Start it, let it catch up, stop it with SIGTERM or Ctrl-C, and try again."
        )
    return positions


def require_complete_logs(directory: StateDirectory) -> None:
    """Raise `StartRefused` where blocks that a start goes on with are missing; none is read."""
    pointers = _pointers(directory)
    stored = directory.stored()
    for partition in [] if stored is None else stored.own_partitions:
        deque(resumed_blocks(directory.rows, partition, pointers.get(partition)), maxlen=0)


def newest_tables(
    file: PipelineFile, mechanism: Mechanism, directory: StateDirectory, stored: Fingerprint
) -> Iterator[tuple[int, RowTable]]:
    """Yield the rows of every partition that has some, as a start would go on with them."""
    columns, ends = columns_of(file.pipeline, mechanism), exhaustible(mechanism)
    pointers = _pointers(directory)
    for partition in stored.own_partitions:
        content = resumed_blocks(directory.rows, partition, pointers.get(partition))
        if (first := next(content, None)) is not None:
            yield partition, read_rows(chain([first], content), columns, ends)


def _pointers(directory: StateDirectory) -> dict[int, bytes]:
    """Return the last pointer of every partition that has one."""
    pointers = resuming(directory.recovery).pointers
    steps = StreamsPlan.stage_step, BoundingPlan.stage_step
    return {
        partition_of(pointer): pointer
        for (step, _), pointer in pointers.items()
        if step.rpartition(".")[2] in steps
    }
