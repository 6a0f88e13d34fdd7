"""Abort what copies that died have left open, which would hold others up until Kafka does it.

A copy is shut out by its transactional id. One that lives ends, and its next start goes on from
what is committed; so whoever may only be slow is given time to commit before.
"""

import logging
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.copies.instance import transactional_id
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

    A transaction lasts so many `milliseconds` at most.
    """

    plan: Plan
    client: CopyClient
    state: StateTopic
    instance: str
    milliseconds: int
    shut_out: set[str] = field(default_factory=set, init=False)
    _slow: set[int] = field(default_factory=set, init=False)

    def end_owner(self, header: Header | None) -> None:
        """Abort what the last owner of a partition, which wrote this header, has left open.

        Whoever gave the partition up properly has left nothing.
        """
        if header is not None and self._died(header):
            self._end(header)

    def end_open(self, partition: int) -> None:
        """Abort what any of them has left open in the state of a partition.

        Whoever sends the position of a partition has written a block of it before, in the same
        transaction. Where none is open there, Kafka is slow, and nobody is to blame for that.
        """
        topic, place = self.state.topic.name, self.state.place(partition)
        with closing(self.client.reader(topic)) as reader:
            start = reader.bounds([place])[place].end
        with closing(self.client.reader(topic, committed=False)) as reader:
            bounds = Bounds(start, reader.bounds([place])[place].end)
            found = [*headers(reader, place, bounds, self.state.opened)]
        self._end_all(found)
        if not found and partition not in self._slow:
            self._slow.add(partition)
            log.warning(
                "topic %s, partition %d: Kafka has not answered for a second, and no transaction "
                "of a copy is open; waiting",
                topic,
                place,
                extra={"topic": topic, "partition": place},
            )

    def free_the_log(self, headers: Iterable[Header | None]) -> None:
        """Abort what dead owners left open in the internal log, which holds up all who read it.

        Whoever gave its partition up properly has nothing open there.
        """
        topic = self.plan.written_log
        died = [one for one in headers if one is not None and self._died(one)]
        if topic is None or not died:
            return
        with closing(self.client.reader(topic, committed=False)) as reader:
            written = reader.bounds([0])[0].end
        seconds = self.milliseconds / 1000 / _PATIENCE_IN_TRANSACTION
        look = Patience(lambda: self._end_all(died), seconds)
        with closing(self.client.reader(topic)) as reader:
            while reader.bounds([0])[0].end < written and not look.is_over:
                look()
                time.sleep(PAUSE_SECONDS)

    def _end_all(self, headers: Iterable[Header]) -> None:
        for one in headers:
            self._end(one)

    def _end(self, header: Header) -> None:
        owner = header.instance
        if owner == self.instance or owner in self.shut_out:
            return
        self.shut_out.add(owner)
        log.info("copy %s left a transaction open; it is aborted", owner)
        identity = transactional_id(self.plan.name, owner)
        with suppress(DeliveryFailed):
            self.client.copy_writer(identity, self.milliseconds).close()

    def _died(self, header: Header) -> bool:
        return not header.left and header.instance != self.instance
