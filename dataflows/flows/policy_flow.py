"""The dataflow that takes changes of policies from their topic to the internal log.

policies ──▶ read ──▶ changes ──▶ internal log                     (the owner of the merge)
                  └─▶ dead letters

Only there do they come before one tick and after another. A change that cannot be read is a dead
letter and a line in the log of the process: policies are public, so it may say what is wrong.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from fugu.dataflows.base.batches import Batch, DeadLetters, Outgoing, Reason
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import DEAD_LETTERS, Metrics
from fugu.dataflows.flows.flow import Shard, offsets_of
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.sink import KafkaSink, Shared
from fugu.dataflows.kafka.source import KafkaSource, StopFlag, part_name
from fugu.dataflows.policies.change import UnusableChange
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.stages.log_entries import POLICIES_KEY, PolicyChange
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.operators.temporal.temporal_perturbation import End

POLICY_STEPS = ["policies", "read", "changes", "dead_letters", "log", "dead_letter_sink"]
"""Names of the steps; bytewax identifies state by them, so they never change."""

ReadChange = Callable[[bytes | None, bytes | None], bytes]
"""Key and value of a record as a change that the mechanism understands, or `UnusableChange`."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PolicyPlan:
    """Everything the dataflow is made of; its sink is the internal log."""

    name: str
    read_change: ReadChange
    publisher: Publisher
    client: Client
    directory: StateDirectory
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag
    finishing: End | None = None
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class Changes:
    """What a batch of the policy topic holds."""

    partition: int
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    changes: list[PolicyChange] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)


def build_policies(plan: PolicyPlan) -> Shard:
    """Read changes, and write them to the internal log."""
    fingerprint = plan.fingerprint
    topic = fingerprint.source_topic

    def read(batch: Batch) -> tuple[str, Changes]:
        with without_values("read", topic, batch.partition, batch.offsets):
            return part_name(batch.partition), _read(plan, batch)

    def changes(changes: Changes) -> Outgoing:
        return Outgoing(
            partition=changes.partition,
            keys=[POLICIES_KEY] * len(changes.changes),
            values=[one.encoded() for one in changes.changes],
            headers=plan.publisher.record_headers(changes.partition, changes.offsets),
            timestamps=changes.timestamps,
            positions=changes.offsets,
        )

    def dead_letters(changes: Changes) -> Outgoing:
        outgoing = plan.publisher.dead_letters(changes.partition, changes.dead)
        return replace(outgoing, keys=[POLICIES_KEY] * len(outgoing.values))

    flow = Dataflow(f"{plan.name}.policies".replace(".", "_"))
    begin, reader = offsets_of(fingerprint.source_begin), plan.client.reader(topic)
    source = KafkaSource(topic, begin, reader, plan.max_batch, plan.stop, plan.metrics)
    read_changes = op.map("read", op.input("policies", flow, source), read)
    writer, shared = plan.client.writer(), Shared(1, lambda part, key: key == POLICIES_KEY)
    sink = KafkaSink(
        plan.client,
        writer,
        fingerprint.sink_topic,
        offsets_of(fingerprint.sink_begin),
        plan.publisher.release_ids,
        plan.metrics,
        shared,
    )
    op.output("log", op.map_value("changes", read_changes, changes), sink)
    dead_letter_sink = KafkaSink(
        plan.client,
        writer,
        fingerprint.dead_letters_topic,
        offsets_of(fingerprint.dead_letters_begin),
        plan.publisher.dead_letter_ids,
        plan.metrics,
        shared,
    )
    op.output(
        "dead_letter_sink",
        op.map_value("dead_letters", read_changes, dead_letters),
        dead_letter_sink,
    )
    return Shard(flow, source, (sink, dead_letter_sink))


def _read(plan: PolicyPlan, batch: Batch) -> Changes:
    changes, topic = Changes(batch.partition), plan.fingerprint.source_topic
    for offset, time, key, value, _ in batch.records():
        try:
            change = PolicyChange(plan.read_change(key, value))
        except UnusableChange as error:
            changes.dead.add(offset, time, Reason.BAD_POLICY, error.place)
            plan.metrics.add(DEAD_LETTERS, 1, topic, batch.partition, Reason.BAD_POLICY)
            log.warning(
                "topic %s, partition %d, offset %d: %s; nothing was changed",
                topic,
                batch.partition,
                offset,
                error,
                extra={"topic": topic, "partition": batch.partition, "offset": offset},
            )
            continue
        changes.offsets.append(offset)
        changes.timestamps.append(time)
        changes.changes.append(change)
    return changes
