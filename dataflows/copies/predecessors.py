"""Abort what copies that died have left open, which would hold others up until Kafka does it.

A copy is shut out by its transactional id. One that lives ends, and its next start goes on from
what is committed; so whoever may only be slow is given time to commit before.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.copies.instance import forwarding, transactional_id
from fugu.dataflows.copies.patience import PAUSE_SECONDS, Patience
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.kafka.client import Bounds, CopyClient
from fugu.dataflows.state.chain_reader import headers
from fugu.dataflows.state.changelog import Header
from fugu.dataflows.state.state_topic import StateTopic

_PATIENCE_IN_TRANSACTION = 5
"""A copy that lives commits in a tenth of the time that a transaction may last."""

log = logging.getLogger(__name__)


@dataclass
class Predecessors:
    """Shut out those that owned partitions before the copy called `instance`, once in a takeover.

    A transaction lasts so many `milliseconds` at most. `tried` holds whom this takeover has tried
    to shut out.
    """

    plan: Plan
    client: CopyClient
    state: StateTopic
    instance: str
    milliseconds: int
    tried: set[str] = field(default_factory=set, init=False)
    _slow: set[int] = field(default_factory=set, init=False)

    def end_owner(self, header: Header | None) -> None:
        """Abort what the last owner of a partition, which wrote this header, has left open.

        Whoever gave the partition up properly has left nothing.
        """
        if header is not None and self._died(header):
            self._end(header.instance)

    def end_open(self, partition: int) -> None:
        """Abort what one of them has left open in the state of a partition.

        Whoever sends the position of a partition has written a block of it before, in the same
        transaction. Committed records can be read up to the first one that is open; what is behind
        it may be committed. Where no block is open, Kafka is slow, and no copy is to blame.
        """
        topic, place = self.state.topic.name, self.state.place(partition)
        with closing(self.client.reader(topic)) as reader:
            start = reader.bounds([place])[place].end
        with closing(self.client.reader(topic, committed=False)) as reader:
            first = Bounds(start, min(start + 1, reader.bounds([place])[place].end))
            found = [*headers(reader, place, first, self.state.opened)]
        self._end_all([header.instance for header in found])
        if not found and partition not in self._slow:
            self._slow.add(partition)
            log.warning(
                "topic %s, partition %d: Kafka has not answered for a second, and no transaction "
                "of a copy is open; waiting",
                topic,
                place,
                extra={"topic": topic, "partition": place},
            )

    def free_what_all_read(self, headers: Iterable[Header | None]) -> None:
        """Abort what dead owners left open where it holds up all who read it.

        That is the internal log of an aggregate, and what their processes wrote by user. Whoever
        gave its partition up properly has nothing open there.
        """
        died = [one.instance for one in headers if one is not None and self._died(one)]
        if not died:
            return
        stored = self.plan.fingerprint
        if self.plan.written_log is not None:
            self._free(self.plan.written_log, [0], died)
        if self.plan.reads_source and stored.origin_topic:
            wrote = [forwarding(one) for one in died]
            self._free(stored.source_topic, range(stored.partitions), wrote)

    def _free(self, topic: str, partitions: Sequence[int], owners: Sequence[str]) -> None:
        """Wait until what is written by now is open no more; for owners that live, not for long."""
        every, seconds = [*partitions], self.milliseconds / 1000 / _PATIENCE_IN_TRANSACTION
        with closing(self.client.reader(topic, committed=False)) as reader:
            written = reader.bounds(every)
        look = Patience(lambda: self._end_all(owners), seconds)
        with closing(self.client.reader(topic)) as reader:
            while not look.is_over:
                if all(one.end >= written[at].end for at, one in reader.bounds(every).items()):
                    return
                look()
                time.sleep(PAUSE_SECONDS)

    def _end_all(self, owners: Iterable[str]) -> None:
        for one in owners:
            self._end(one)

    def _end(self, owner: str) -> None:
        if owner == self.instance or owner in self.tried:
            return
        self.tried.add(owner)
        identity = transactional_id(self.plan.name, owner)
        try:
            self.client.copy_writer(identity, self.milliseconds).close()
        except DeliveryFailed as error:
            log.warning(
                "what copy %s has left open could not be aborted; Kafka does it %g s after it "
                "began. %s",
                owner,
                self.milliseconds / 1000,
                error,
            )
        else:
            log.info("copy %s is shut out, and what it had left open is aborted", owner)

    def _died(self, header: Header) -> bool:
        return not header.left and header.instance != self.instance
