"""Write the transactions of a copy, of which each ends with a cut.

One holds what was made of the records since the cut before, a block of the state for every
partition that moved, and the positions in the source. Kafka takes positions from a present member
of the consumer group only, so whoever has lost a partition commits nothing of it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.metrics import FOREIGN_WRITES
from fugu.dataflows.copies.intake import epochs_of
from fugu.dataflows.copies.others import others_between
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.kafka.client import CopyWriter, Entry, GroupMetadata
from fugu.dataflows.kafka.sink import count_out
from fugu.dataflows.state.state_topic import FINGERPRINT, Put, StateTopic

Written = Sequence[Outgoing]
"""Hold the records that a batch has become, for each output of the plan, in its order."""

_MARKER = 1
"""A commit leaves a mark in every partition that it wrote to."""

log = logging.getLogger(__name__)


class Transaction:
    """Hold what the copy called `instance` writes; `commit` makes it count, and nothing else."""

    def __init__(self, plan: Plan, state: StateTopic, writer: CopyWriter, instance: str) -> None:
        self._plan, self._state, self._writer = plan, state, writer
        self._instance = instance

    def write(self, owned: Owned[Any], written: Written) -> None:
        """Hand over what a batch of a partition has become."""
        for account, records in zip(owned.accounts, written, strict=True):
            account.note(records)
            self._writer.write(account.topic, replace(records, partition=account.partition))
            count_out(self._plan.metrics, account.topic, account.partition, records)

    def commit(
        self, touched: Sequence[Owned[Any]], epoch: int, member: Callable[[], GroupMetadata]
    ) -> None:
        """Commit everything, with the positions of all partitions that are `touched`.

        `member` is asked last, because a membership from before may be of an older generation.
        """
        blocks = {self._place(one): one.records(self._instance, epoch) for one in touched}
        ends = {self._place(one): one.end for one in touched}
        put = self._state.put(self._writer, blocks, ends)
        harmed = [
            one
            for one in touched
            if self._is_harmed(one, put[self._place(one)], blocks[self._place(one)])
        ]
        self._plan.same_topics.require()
        positions = {owned.partition: owned.position for owned in touched}
        source = self._plan.fingerprint.source_topic
        self._writer.send_offsets({source: positions}, member(), epochs_of(touched))
        self._writer.commit()
        for owned in touched:
            owned.touched = False
            self._close_accounts(owned)
        for owned in harmed:
            owned.renew()

    def abandon(self) -> None:
        """Abort what is not committed."""
        self._writer.abandon()

    def close(self) -> None:
        """Write nothing any more."""
        self._writer.close()

    def _place(self, owned: Owned[Any]) -> int:
        return self._state.place(owned.partition)

    def _is_harmed(self, owned: Owned[Any], put: Put, block: Sequence[Entry]) -> bool:
        """Return whether somebody else has written to this partition of the state, with keys of
        records that count and are not behind that."""
        topic, partition = self._state.topic.name, self._place(owned)
        others = others_between(self._state, partition, owned.end, put, owned.marks)
        self._plan.metrics.add(FOREIGN_WRITES, others.count, topic, partition)
        owned.end, owned.marks = put.end + _MARKER, _MARKER
        behind = {key for key, _ in block}
        counting = {FINGERPRINT, *owned.chain.keys} if others.count else frozenset[bytes]()
        return bool(others.keys & counting - behind)

    def _close_accounts(self, owned: Owned[Any]) -> None:
        for account in owned.accounts:
            end = self._writer.acknowledged_end(account.topic, account.partition)
            if account.close(end, owned.position):
                log.warning(
                    "topic %s, partition %d: releases that a copy had written when it died did not "
                    "come back, or not with the same content, as where records of the source are "
                    "gone; they were aborted and do not count",
                    account.topic,
                    account.partition,
                    extra={"topic": account.topic, "partition": account.partition},
                )
