"""Bound what users contribute to ticks: the first of two dataflows, in every shard.

source ──▶ decode ──▶ bound ──▶ partials ──▶ internal log
                            └─▶ dead letters
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Output
from fugu.dataflows.kafka.sink import Shared
from fugu.dataflows.stages.bounding import Bounded, Bounding
from fugu.dataflows.stages.log_entries import partition_key


@dataclass(frozen=True, kw_only=True)
class BoundingPlan(PartitionsPlan[Bounded[Any]]):
    """Hold the plan of one shard; its sink is the internal log."""

    stage: Bounding[Any]

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
        own = Shared(1, lambda part, key: key == partition_key(part), self.seal.is_on)
        topic, begin = fingerprint.sink_topic, fingerprint.sink_begin
        told = Output("partials", "log", self._partials, topic, begin, shared=own)
        unnamed = Shared(fingerprint.partitions, lambda part, key: key is None)
        return [told, self.dead_letters(self.refused, unnamed)]

    @cached_property
    def seal(self) -> LogSeal:
        """Return what tells own entries of the internal log."""
        return LogSeal.by(self.publisher, self.fingerprint.sink_identity)

    def _partials(self, bounded: Bounded[Any]) -> Outgoing:
        closed = bounded.partials
        keys, ticks = [partition_key(bounded.partition)] * len(closed), [one.tick for one in closed]
        parts = np.array([one.part for one in closed], dtype=np.int64)
        identity = self.fingerprint.sink_identity
        told = Outgoing(
            partition=bounded.partition,
            keys=list(keys),
            values=[one.encoded() for one in closed],
            headers=self.publisher.tick_headers(identity, keys, ticks, parts),
            timestamps=[self.stage.ticks.end(tick) for tick in ticks],
            positions=ticks,
        )
        return self.seal.onto(told)
