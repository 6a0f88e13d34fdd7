"""Sum what users contribute to an aggregate: the first of its two dataflows, in every shard.

source ──▶ decode ──▶ bound ──▶ partials ──▶ internal log
                            └─▶ dead letters
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Output
from fugu.dataflows.kafka.sink import Shared
from fugu.dataflows.stages.log_entries import partition_key
from fugu.dataflows.stages.summing import Summed, Summing


@dataclass(frozen=True, kw_only=True)
class SummingPlan(PartitionsPlan[Summed]):
    """Hold the plan of one shard; its sink is the internal log."""

    stage: Summing

    suffix: ClassVar[str] = ".bounding"
    steps: ClassVar[list[str]] = [
        "source",
        "decode",
        "bound",
        "partials",
        "dead_letters",
        "log",
        "dead_letter_sink",
    ]
    stage_step: ClassVar[str] = "bound"
    shares_sink: ClassVar[bool] = True

    def outputs(self) -> list[Output]:
        """Return the internal log, and dead letters."""
        fingerprint = self.fingerprint
        own = Shared(1, lambda part, key: key == partition_key(part))
        topic, begin = fingerprint.sink_topic, fingerprint.sink_begin
        sums = Output("partials", "log", self._partials, topic, begin, shared=own)
        unnamed = Shared(fingerprint.partitions, lambda part, key: key is None)
        return [sums, self.dead_letters(self.refused, unnamed)]

    def _partials(self, bounded: Summed) -> Outgoing:
        closed = bounded.partials
        keys, ticks = [partition_key(bounded.partition)] * len(closed), [one.tick for one in closed]
        return Outgoing(
            partition=bounded.partition,
            keys=list(keys),
            values=[one.encoded() for one in closed],
            headers=self.publisher.tick_headers(self.fingerprint.sink_identity, keys, ticks),
            timestamps=[self.stage.ticks.end(tick) for tick in ticks],
            positions=ticks,
        )
