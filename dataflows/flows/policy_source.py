"""Read the topic of policies, and say when it has been read to an end that the merge waits for."""

from dataclasses import dataclass

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.flows.policy_wait import PolicyEnd
from fugu.dataflows.kafka.source import KafkaSource, KafkaSourcePart


@dataclass(frozen=True)
class Covering(Batch):
    """Stand behind all records up to an end, which the topic had after the internal log held an
    entry at offset `covers`."""

    covers: int = -1


@dataclass(eq=False)
class PolicySource(KafkaSource):
    """Read the only partition of the topic of policies."""

    end: PolicyEnd

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> "PolicySourcePart":
        """Resume, and begin to ask for ends."""
        part = super().build_part(step_id, for_part, resume_state)
        self.end.start()
        return PolicySourcePart(part.source, part.partition, self.end)


@dataclass(eq=False)
class PolicySourcePart(KafkaSourcePart):
    """Read the partition, and follow it with `Covering` where it is read to an end."""

    end: PolicyEnd

    def next_batch(self) -> list[Batch]:
        """Return at most one batch, and what it completes."""
        batches = super().next_batch()
        offset = self.end.covered_by(lambda: self.source.shared.next_offset(self.partition))
        if offset is not None:
            batches.append(Covering(self.partition, [], [], [], [], [], covers=offset))
        return batches
