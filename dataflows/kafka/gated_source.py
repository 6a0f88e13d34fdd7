"""Read a source whose records may have to wait: a partition that waits is not read further."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kafka.source import KafkaSource, KafkaSourcePart

_PAUSE = timedelta(milliseconds=5)


@dataclass(eq=False)
class GatedSource(KafkaSource):
    """Resume where records are not in the state, `taken_in`, and not behind those that were read.

    `waits` says whether a partition holds records back.
    """

    waits: Callable[[int], bool]
    taken_in: dict[int, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.positions = self.taken_in

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> "GatedSourcePart":
        """Resume one partition."""
        part = super().build_part(step_id, for_part, resume_state)
        return GatedSourcePart(part.source, part.partition, self)


@dataclass(eq=False)
class GatedSourcePart(KafkaSourcePart):
    """Read one partition, unless it waits."""

    gated: GatedSource

    def next_batch(self) -> list[Batch]:
        """Return at most one batch, and none while earlier ones are held back."""
        if self.gated.waits(self.partition) and not self.source.stop.requested:
            return []
        taken_in, partition = self.gated.taken_in, self.partition
        before = taken_in[partition]
        batches = super().next_batch()
        taken_in[partition] = before
        return batches

    def next_awake(self) -> datetime | None:
        """Look again soon whether the partition still waits."""
        if self.gated.waits(self.partition):
            return datetime.now(UTC) + _PAUSE
        return super().next_awake()
