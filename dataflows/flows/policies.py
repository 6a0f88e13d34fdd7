"""Take changes of policies from their topic to the internal log of an aggregate.

    policies ──▶ read ──▶ changes ──▶ internal log                 (the owner of the merge)
                      └─▶ dead letters

Only there do they come before one tick and after another. A change that cannot be read is a dead
letter and a line in the log of the process: policies are public, so it may say what is wrong.
"""

import logging
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import bytewax.operators as op
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, DeadLetters, Outgoing, Reason
from fugu.dataflows.base.errors import is_of_one_record, unexpected
from fugu.dataflows.base.metrics import DEAD_LETTERS
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.flows.plan import Output, Plan
from fugu.dataflows.flows.policy_source import Covering, PolicySource
from fugu.dataflows.flows.policy_wait import PolicyEnd, PolicyWait
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.sink import Shared
from fugu.dataflows.kafka.source import KafkaSource, StopFlag, part_name
from fugu.dataflows.policies.changes import UnusableChange
from fugu.dataflows.policies.signatures import Signatures
from fugu.dataflows.stages.log_entries import (
    COVERED_KEY,
    POLICIES_KEY,
    PoliciesCovered,
    PolicyChange,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Changes:
    """Hold what a batch of the policy topic says."""

    partition: int
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    changes: list[PolicyChange] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)
    covers: int | None = None
    """The entry of the internal log that is covered behind all changes so far."""


@dataclass(frozen=True, kw_only=True)
class PoliciesPlan(Plan):
    """Hold the plan; its sink is the internal log."""

    signatures: Signatures
    wait: PolicyWait

    shares_sink: ClassVar[bool] = True

    suffix: ClassVar[str] = ".policies"
    steps: ClassVar[list[str]] = [
        "policies",
        "read",
        "changes",
        "dead_letters",
        "log",
        "dead_letter_sink",
    ]

    def source(self, topic: str, begin: dict[int, int], reader: Reader) -> KafkaSource:
        """Return the source, which says when it has been read to an end."""
        end = self.end(self.stop)
        return PolicySource(topic, begin, reader, self.max_batch, self.stop, self.metrics, end)

    def end(self, stop: StopFlag) -> PolicyEnd:
        """Return what asks where the topic ends, until it is to `stop`."""
        topic = self.fingerprint.source_topic
        uncommitted = partial(self.client.reader, topic, committed=False)
        return PolicyEnd(self.wait, self.metrics, stop, uncommitted, self._is_same)

    def _is_same(self) -> bool:
        topic = self.client.topic(self.fingerprint.source_topic)
        return topic is not None and topic.identity == self.fingerprint.source_identity

    @property
    def reads_headers(self) -> bool:
        """Return that signatures are in headers."""
        return True

    def items(self, batches: Stream[Batch]) -> KeyedStream[Changes]:
        """Read changes."""
        return op.map("read", batches, self._read)

    def outputs(self) -> list[Output]:
        """Return the internal log, and dead letters."""
        own = Shared(1, lambda part, key: key == POLICIES_KEY)
        in_log = replace(own, is_sealed=self._seal.is_on)
        topic, begin = self.fingerprint.sink_topic, self.fingerprint.sink_begin
        ids = self.publisher.release_ids
        changes = Output("changes", "log", self._changes, topic, begin, ids, in_log)
        return [changes, self.dead_letters(self._refused, own)]

    @cached_property
    def _seal(self) -> LogSeal:
        return LogSeal.by(self.publisher, self.fingerprint.sink_identity)

    def _changes(self, changes: Changes) -> Outgoing:
        return self._seal.onto(self._entries(changes))

    def _entries(self, changes: Changes) -> Outgoing:
        if changes.covers is not None:
            return Outgoing(
                partition=changes.partition,
                keys=[COVERED_KEY],
                values=[PoliciesCovered(changes.covers).encoded()],
                headers=[[]],
                timestamps=[time.time_ns() // 1_000_000],
                behind_all=True,
            )
        return Outgoing(
            partition=changes.partition,
            keys=[POLICIES_KEY] * len(changes.changes),
            values=[one.encoded() for one in changes.changes],
            headers=self.publisher.record_headers(changes.partition, changes.offsets),
            timestamps=changes.timestamps,
            positions=changes.offsets,
        )

    def _refused(self, changes: Changes) -> Outgoing:
        outgoing = self.publisher.dead_letters(changes.partition, changes.dead)
        return replace(outgoing, keys=[POLICIES_KEY] * len(outgoing.values))

    def _read(self, batch: Batch) -> tuple[str, Changes]:
        return part_name(batch.partition), self.changes_of(batch)

    def changes_of(self, batch: Batch) -> Changes:
        """Return the changes that a batch holds."""
        with self.without_values("read", batch.partition, batch.offsets):
            return self._changes_of(batch)

    def _changes_of(self, batch: Batch) -> Changes:
        if isinstance(batch, Covering):
            return Changes(batch.partition, covers=batch.covers)
        changes = Changes(batch.partition)
        for offset, when, key, value, headers in batch.records():
            try:
                change = self.signatures.read(key, value, headers, when)
            except UnusableChange as error:
                changes.dead.add(offset, when, Reason.BAD_POLICY, error.place)
                self._say(batch.partition, offset, Reason.BAD_POLICY, str(error))
                continue
            except Exception as error:
                if not is_of_one_record(error):
                    raise
                changes.dead.add(offset, when, Reason.UNREADABLE, type(error).__name__)
                self._say(batch.partition, offset, Reason.UNREADABLE, unexpected(error))
                continue
            changes.offsets.append(offset)
            changes.timestamps.append(when)
            changes.changes.append(PolicyChange(change.to_bytes(), offset))
        return changes

    def _say(self, partition: int, offset: int, reason: Reason, why: str) -> None:
        """Count and log a record that changes nothing."""
        topic = self.fingerprint.source_topic
        self.metrics.add(DEAD_LETTERS, 1, topic, partition, reason)
        log.warning(
            "topic %s, partition %d, offset %d: %s; nothing was changed",
            topic,
            partition,
            offset,
            why.removesuffix("."),
            extra={"topic": topic, "partition": partition, "offset": offset},
        )
