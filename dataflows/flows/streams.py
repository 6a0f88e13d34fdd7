"""Sanitize single streams: every record, or every tick, is released for itself.

source ──▶ decode ──▶ sanitize ──▶ releases ──────▶ sink
                               ├─▶ dead letters ──▶ dead-letter sink
                               └─▶ spending ──────▶ ledger, if there is one
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from fugu.dataflows.base.batches import Outgoing, Sanitized
from fugu.dataflows.base.metrics import STREAMS_LIMIT
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Output, Shard
from fugu.dataflows.flows.warming import warm_up
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.kafka.sink import Shared
from fugu.dataflows.publishing.ledger_topic import is_stream_of
from fugu.dataflows.stages.stage import StreamStage


@dataclass(frozen=True, kw_only=True)
class StreamsPlan(PartitionsPlan[Sanitized]):
    """Hold the plan of one shard; `ledger` is the topic of a pipeline that reports spending."""

    stage: StreamStage
    ledger: Topic | None = None

    steps: ClassVar[list[str]] = [
        "source",
        "decode",
        "sanitize",
        "releases",
        "dead_letters",
        "sink",
        "dead_letter_sink",
    ]
    """With a ledger, there are `spending` and `ledger_sink` too."""
    stage_step: ClassVar[str] = "sanitize"

    def build(self) -> Shard:
        """Return the dataflow, compiled before the first record waits for it."""
        for partition in self.fingerprint.own_partitions:
            self.show_limit(partition)
        return super().build()

    def warm_up(self) -> None:
        """Compile what reads and releases records."""
        super().warm_up()
        warm_up(self.stage, self.codec, self.publisher)

    def show_limit(self, partition: int) -> None:
        """Show how many streams a partition may have."""
        most, topic = self.stage.admission.max_keys, self.fingerprint.source_topic
        self.metrics.put(STREAMS_LIMIT, most, topic, partition)

    def outputs(self) -> list[Output]:
        """Return the sink, dead letters, and what streams have spent."""
        fingerprint = self.fingerprint
        per_record = not self.stage.in_ticks and self.finishing is None
        ids = self.publisher.release_ids if per_record else None
        topic, begin = fingerprint.sink_topic, fingerprint.sink_begin
        releases = Output("releases", "sink", self._releases, topic, begin, ids)
        outputs = [releases, self.dead_letters(self.refused)]
        if self.ledger is not None:
            shared = Shared(self.ledger.partitions, partial(is_stream_of, self.name))
            topic, begin = self.ledger.name, fingerprint.ledger_begin
            ids = self.publisher.ledger_ids
            spending = Output("spending", "ledger_sink", self._spending, topic, begin, ids, shared)
            outputs.append(spending)
        return outputs

    def _releases(self, sanitized: Sanitized) -> Outgoing:
        with self.without_values("releases", sanitized.partition, sanitized.offsets):
            return self.publisher.releases(sanitized)

    def _spending(self, sanitized: Sanitized) -> Outgoing:
        with self.without_values("spending", sanitized.partition, sanitized.offsets):
            return self.publisher.spending(sanitized)
