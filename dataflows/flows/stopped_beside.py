"""Own what an aggregate has beside its shards, stopped gracefully, to carry it elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import flow_name
from fugu.dataflows.flows.stopped_state import require_graceful_stop
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.recovery import Resuming, resuming
from fugu.dataflows.state.row_log import pointed_at

Shape = TypeVar("Shape", bound="BesideShards")


@dataclass(frozen=True)
class BesideShards:
    """Hold a directory beside those of shards, what it belongs to, and the next `position` of what
    it reads."""

    directory: StateDirectory
    fingerprint: Fingerprint
    position: int


@dataclass(frozen=True)
class MergeOnDisk(BesideShards):
    """Hold the directory of a merge, which reads the internal log."""

    def state(self, merge: Merging) -> MergeState:
        """Return the state that a start would go on with."""
        content = self._resumes.pointers.get(self._part(MergingPlan.merge_step))
        return merge.start() if content is None else merge.restored(content, self._sums)

    @property
    def published_to(self) -> int:
        """Return the offset of the sink behind all figures of this state."""
        [begin] = self.fingerprint.sink_begin.values()
        return self._resumes.offsets.get(self._part("sink"), begin)

    @property
    def _resumes(self) -> Resuming:
        return resuming(self.directory.recovery)

    def _part(self, step: str) -> tuple[str, str]:
        flow = flow_name(f"{self.fingerprint.pipeline}{MergingPlan.suffix}")
        return f"{flow}.{step}", part_name(0)

    def _sums(self, place: str) -> OpenTicks:
        sums = OpenTicks()
        for block in pointed_at(self.directory.rows, place.encode(), MergingPlan.kept):
            sums.apply(block)
        return sums


@contextmanager
def stopped_beside(directory: StateDirectory, shape: type[Shape]) -> Iterator[Shape]:
    """Own a directory beside those of shards; `StartRefused` unless it stopped gracefully."""
    directory.lock()
    try:
        stored = directory.stored()
        if stored is None:
            raise ConfigurationError(
                f"the state in {directory.path.parent} is not whole: {directory.path.name} has not "
                "run yet, or is missing. Start the pipeline with all shards and stop it, or "
                "restore the state directory"
            )
        [position] = require_graceful_stop(directory).values()
        yield shape(directory, stored, position)
    finally:
        directory.unlock()
