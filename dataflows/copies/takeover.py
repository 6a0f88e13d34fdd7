"""Take a partition over: wait for what a predecessor left undecided, and read its chain back.

The order is what makes it safe. First the committed position is asked for, which waits for pending
ones: from then on nothing of a predecessor can be committed any more, except what is decided
already, and that lies below the end of the state. Then that end is asked for, open transactions
included, and the state is read up to there, however long a transaction holds the rest back.
"""

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.base.metrics import FOREIGN_WRITES
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.copies.followed import Followed
from fugu.dataflows.copies.others import say_foreign
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.copies.patience import LONGEST_SECONDS, PAUSE_SECONDS, Patience
from fugu.dataflows.copies.predecessors import Predecessors
from fugu.dataflows.copies.settings import Standby
from fugu.dataflows.copies.work import CopiedTable, fresh_table
from fugu.dataflows.flows.plan import Plan, offsets_of
from fugu.dataflows.kafka.client import Bounds, CopyClient, GroupMember, Reader, identity_of
from fugu.dataflows.state.chain_reader import ChainReader
from fugu.dataflows.state.changelog import Header
from fugu.dataflows.state.fingerprint import check_same
from fugu.dataflows.state.state_topic import StateTopic

_POLLED = 10_000

log = logging.getLogger(__name__)


@dataclass
class Takeover:
    """Take partitions over for a copy, called `instance` in the group, with its `client`."""

    plan: Plan
    client: CopyClient
    state: StateTopic
    instance: str
    milliseconds: int
    standby: Standby = "none"
    reads_on: bool = True
    """Say whether the partitions are read on, so that their next records must be there."""
    _given_up: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._followed = Followed(self.client, self.state, self._fresh)
        self.predecessors = Predecessors(
            self.plan, self.client, self.state, self.instance, self.milliseconds
        )

    def follow(self, owned: Collection[int]) -> None:
        """Read a little of the chains that are to be at hand, of partitions that others own."""
        if self.standby == "none":
            return
        every = set(range(self.plan.fingerprint.partitions))
        wanted = every if self.standby == "all" else self._given_up
        self._followed.follow({self.state.place(one) for one in wanted - set(owned)})

    def given_up(self, partitions: Iterable[int]) -> None:
        """Hear that this copy has given partitions up, with everything committed."""
        self._given_up |= set(partitions)

    def close(self) -> None:
        """Follow nothing any more."""
        self._followed.close()

    def owned(self, partitions: Sequence[int], member: GroupMember) -> list[Owned[Any]]:
        """Return partitions as their last owners left them; `StartRefused` if they cannot be."""
        self.plan.same_topics.require()
        self.predecessors.tried.clear()
        taken = list[tuple[Owned[Any], Header | None]]()
        for one in partitions:
            owned, header = self._owned(one, self._committed(one, member))
            owned.epoch = member.committed_epoch(one)
            taken.append((owned, header))
        self.predecessors.free_what_all_read(header for _, header in taken)
        return [owned for owned, _ in taken]

    def _committed(self, partition: int, member: GroupMember) -> int | None:
        """Ask for one position alone: only who owned that partition can hold it back."""
        look = Patience(lambda: self.predecessors.end_open(partition))
        seconds = LONGEST_SECONDS + self.milliseconds / 1000
        return member.committed([partition], seconds, look)[partition]

    def _owned(self, partition: int, committed: int | None) -> tuple[Owned[Any], Header | None]:
        """Return a partition, and the header that its last owner wrote."""
        began = time.monotonic()
        chain, end = self._chain(partition)
        position = self._position(partition, chain.header, committed)
        accounts = self._accounts(partition, chain.header)
        if self.reads_on:
            self._require_readable(partition, position, accounts)
        said = chain.fingerprint or b""
        owned = Owned(partition, chain.table, chain.chain, accounts, position, end, said)
        owned.finished = chain.header is not None and chain.header.finished
        if chain.is_harmed:
            owned.renew()
        log.info(
            "topic %s, partition %d: taken over at offset %d, %d streams, %.1f s",
            self.plan.fingerprint.source_topic,
            partition,
            position,
            len(owned.table),
            time.monotonic() - began,
            extra={"partition": partition},
        )
        return owned, chain.header

    def _chain(self, partition: int) -> tuple[ChainReader[CopiedTable], int]:
        """Read the chain to the end that the partition has now, open transactions included."""
        topic, place = self.state.topic.name, self.state.place(partition)
        followed = self._followed.taken(place)
        if followed is None:
            found = ChainReader(topic, place, self._fresh, self.state.opened)
        else:
            found = followed[0]
        with closing(self.client.reader(topic, committed=False)) as reader:
            bounds = reader.bounds([place])[place]
        if followed is not None:
            bounds = Bounds(followed[1], bounds.end)
        with closing(self.client.reader(topic)) as reader:
            look = Patience(lambda: self.predecessors.end_open(partition))
            _read_to(reader, place, bounds, found, look)
        self._require_own(found)
        found.require_whole()
        if found.others:
            self.plan.metrics.add(FOREIGN_WRITES, found.others, topic, place)
            say_foreign(topic, place, found.others)
        return found, bounds.end

    def _fresh(self) -> CopiedTable:
        return fresh_table(self.plan)

    def _require_own(self, found: ChainReader[CopiedTable]) -> None:
        topic = self.state.topic.name
        if found.fingerprint is None:
            raise StartRefused(
                f"topic {topic}, partition {found.chain.partition}: the record that says what the "
                "state belongs to was removed, or copied from another place. Restore the topic: "
                "starting without it would reset budgets."
            )
        check_same(self.state.read(found.fingerprint), self.plan.fingerprint, in_kafka=True)

    def _position(self, partition: int, header: Header | None, committed: int | None) -> int:
        topic = self.plan.fingerprint.source_topic
        if header is None and committed is None:
            return offsets_of(self.plan.fingerprint.source_begin)[partition]
        if header is None:
            raise StartRefused(
                f"topic {self.state.topic.name}, partition {self.state.place(partition)}: there is "
                f"no state, but the "
                f"consumer group {identity_of(self.plan.name)} has read {topic} up to offset "
                f"{committed}. Restore the topic: starting without it would reset budgets."
            )
        if committed is not None and committed != header.position:
            raise StartRefused(
                f"position_mismatch: consumer group {identity_of(self.plan.name)} stands at offset "
                f"{committed} of topic {topic}, partition {partition}, but the state at offset "
                f"{header.position}: somebody has reset the group. Set it back to "
                f"{header.position} (kafka-consumer-groups.sh --reset-offsets --to-offset)."
            )
        return header.position

    def _accounts(self, partition: int, header: Header | None) -> list[Account]:
        accounts = []
        for output in self.plan.outputs():
            begin, published = offsets_of(output.begin)[partition], 0
            if header is not None:
                [begin] = header.ends[output.topic].values()
                published = header.published[output.topic]
            account = Account(output, partition, begin, published)
            committed, written = self._settled(account, header)
            account.look(self.client, committed, written, begun=header is not None)
            account.close(written, -1)
            accounts.append(account)
        return accounts

    def _settled(self, account: Account, header: Header | None) -> tuple[Bounds, int]:
        """Return where an output stands, once no transaction there is open, and where all ends."""
        topic, partition = account.topic, account.partition
        with closing(self.client.reader(topic, committed=False)) as reader:
            written = reader.bounds([partition])[partition].end
        look = Patience(lambda: self.predecessors.end_owner(header))
        with closing(self.client.reader(topic)) as reader:
            while True:
                committed = reader.bounds([partition])[partition]
                if committed.end >= written or account.output.shared is not None:
                    return committed, written  # where others write, too, something is always open
                look()
                look.require_hope(topic, partition, committed.end)
                time.sleep(PAUSE_SECONDS)

    def _require_readable(self, partition: int, position: int, accounts: list[Account]) -> None:
        topic = self.plan.fingerprint.source_topic
        with closing(self.client.reader(topic)) as reader:
            bounds = reader.bounds([partition])[partition]
        if not bounds.start <= position <= bounds.end:
            raise StartRefused(
                f"topic {topic}, partition {partition}: the next record to read has offset "
                f"{position}, but the topic now holds offsets {bounds.start} to {bounds.end}. "
                "Retention removed records that this state goes on with, or the topic was "
                "truncated. Restore them. If retention removed them, stop all copies, run fugu "
                "state move OLD NEW to move the state to disk, and fugu migrate NEW NEW "
                f"--accept-gap {topic}:{partition}, which passes them over with all budgets. Then "
                f"run it from there, or move it into another state.topic. Otherwise {NEW_PIPELINE}."
            )
        for account in accounts:
            account.tail_until = bounds.end
            account.loses_records = bool(account.tail) and self._is_compacted(topic)

    def _is_compacted(self, name: str) -> bool:
        topic = self.client.topic(name)
        return "compact" in ((topic and topic.settings) or {}).get("cleanup.policy", "")


def _read_to(
    reader: Reader, partition: int, bounds: Bounds, found: ChainReader[CopiedTable], look: Patience
) -> None:
    """Read a partition of the state up to its end, open transactions included."""
    reader.assign({partition: bounds.start})
    while (at := reader.position(partition) or 0) < bounds.end:
        batches = reader.poll(_POLLED)
        for batch in batches:
            look.moved()
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                if offset < bounds.end:
                    found.take(int(offset), key, value)
        if not batches:
            look()
            look.require_hope(found.topic, partition, at)
            time.sleep(PAUSE_SECONDS)
