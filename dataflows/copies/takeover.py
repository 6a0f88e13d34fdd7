"""Take a partition over: wait for what a predecessor left undecided, and read its chain back.

The order is what makes it safe. First the committed position is asked for, which waits for pending
ones: from then on nothing of a predecessor can be committed any more, except what is decided
already, and that lies below the end of the state. Then that end is asked for, open transactions
included, and the state is read up to there, however long a transaction holds the rest back.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from fugu.dataflows.base.errors import NEW_PIPELINE, DeliveryFailed, KafkaUnavailable, StartRefused
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.copies.followed import Followed
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.copies.work import CopiedTable, fresh_table
from fugu.dataflows.flows.plan import Plan, offsets_of
from fugu.dataflows.kafka.client import Bounds, CopyClient, GroupMember, Reader, identity_of
from fugu.dataflows.state.chain_reader import ChainReader, last_header
from fugu.dataflows.state.changelog import Header
from fugu.dataflows.state.fingerprint import check_same
from fugu.dataflows.state.state_topic import StateTopic

_POLLED = 10_000
_PAUSE_SECONDS = 0.01
_PATIENCE_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
_PATIENCE_IN_TRANSACTION = 5
"""A copy that lives commits in a tenth of the time that a transaction may last."""

Standby = Literal["none", "kept", "all"]
"""Says which chains a copy follows of partitions that others own."""

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
    _shut_out: set[str] = field(default_factory=set, init=False)
    _died: list[Header] = field(default_factory=list, init=False)
    _given_up: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._followed = Followed(self.client, self.state, self._fresh)

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
        self._died.clear()
        owned = [self._owned(one, self._committed(one, member)) for one in partitions]
        self._free_the_log(self._died)
        return owned

    def _committed(self, partition: int, member: GroupMember) -> int | None:
        """Ask for one position alone: only who owned that partition can hold it back."""
        look = _Patience(lambda: self._shut_out_last(partition))
        seconds = _LONGEST_SECONDS + self.milliseconds / 1000
        return member.committed([partition], seconds, look)[partition]

    def _owned(self, partition: int, committed: int | None) -> Owned[Any]:
        began = time.monotonic()
        chain, end = self._chain(partition)
        self._note_who_died(chain.header)
        position = self._position(partition, chain.header, committed)
        accounts = self._accounts(partition, chain.header)
        self._require_readable(partition, position, accounts)
        owned = Owned(partition, chain.table, chain.chain, accounts, position, end)
        owned.finished = chain.header is not None and chain.header.finished
        log.info(
            "topic %s, partition %d: taken over at offset %d, %d streams, %.1f s",
            self.plan.fingerprint.source_topic,
            partition,
            position,
            len(owned.table),
            time.monotonic() - began,
            extra={"partition": partition},
        )
        return owned

    def _chain(self, partition: int) -> tuple[ChainReader[CopiedTable], int]:
        """Read the chain to the end that the partition has now, open transactions included."""
        topic, partition = self.state.topic.name, self.state.place(partition)
        followed = self._followed.taken(partition)
        if followed is None:
            found = ChainReader(topic, partition, self._fresh, self.state.opened)
        else:
            found = followed[0]
        with closing(self.client.reader(topic, committed=False)) as reader:
            bounds = reader.bounds([partition])[partition]
        if followed is not None:
            bounds = Bounds(followed[1], bounds.end)
        look = _Patience(lambda: self._shut_out_owner(found.header))
        with closing(self.client.reader(topic)) as reader:
            _read_to(reader, partition, bounds, found, look)
        self._require_own(found)
        found.require_whole()
        if found.others:
            log.warning(
                "topic %s, partition %d: %d records are not Fugu's; nobody else may write to it",
                topic,
                partition,
                found.others,
                extra={"topic": topic, "partition": partition},
            )
        return found, bounds.end

    def _fresh(self) -> CopiedTable:
        return fresh_table(self.plan)

    def _require_own(self, found: ChainReader[CopiedTable]) -> None:
        topic = self.state.topic.name
        if found.fingerprint is None:
            raise StartRefused(
                f"topic {topic}, partition {found.chain.partition}: the record that says what the "
                "state belongs to was removed. Restore the topic: starting without it would reset "
                "budgets."
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
        look = _Patience(lambda: self._shut_out_owner(header))
        with closing(self.client.reader(topic)) as reader:
            while True:
                committed = reader.bounds([partition])[partition]
                if committed.end >= written or account.output.shared is not None:
                    return committed, written  # where others write, too, something is always open
                look()
                look.require_hope(topic, partition, committed.end)
                time.sleep(_PAUSE_SECONDS)

    def _require_readable(self, partition: int, position: int, accounts: list[Account]) -> None:
        topic = self.plan.fingerprint.source_topic
        with closing(self.client.reader(topic)) as reader:
            bounds = reader.bounds([partition])[partition]
        if not bounds.start <= position <= bounds.end:
            raise StartRefused(
                f"topic {topic}, partition {partition}: the next record to read has offset "
                f"{position}, but the topic now holds offsets {bounds.start} to {bounds.end}. "
                "Retention removed records that this state goes on with, or the topic was "
                f"truncated. Restore them. Otherwise {NEW_PIPELINE}."
            )
        for account in accounts:
            account.tail_until = bounds.end

    def _shut_out_last(self, partition: int) -> None:
        with closing(self.client.reader(self.state.topic.name)) as reader:
            place = self.state.place(partition)
            self._shut_out_owner(last_header(reader, place, self.state.opened))

    def _note_who_died(self, header: Header | None) -> None:
        """Keep in mind an owner that never gave up its partition, where it may hold up others."""
        if not self.plan.shares_sink or header is None:
            return
        if not header.left and header.instance != self.instance:
            self._died.append(header)

    def _free_the_log(self, owners: Sequence[Header]) -> None:
        """Abort what these left open in a topic that all share; whoever lives commits before."""
        if not owners:
            return
        topic = self.plan.fingerprint.sink_topic
        with closing(self.client.reader(topic, committed=False)) as reader:
            written = reader.bounds([0])[0].end
        seconds = self.milliseconds / 1000 / _PATIENCE_IN_TRANSACTION
        look = _Patience(lambda: [self._shut_out_owner(owner) for owner in owners], seconds)
        with closing(self.client.reader(topic)) as reader:
            while reader.bounds([0])[0].end < written and not look.is_over:
                look()
                time.sleep(_PAUSE_SECONDS)

    def _shut_out_owner(self, header: Header | None) -> None:
        """Abort what the last owner of a partition left open; a copy that lives begins again."""
        owner = None if header is None else header.instance
        if owner is None or owner == self.instance or owner in self._shut_out:
            return
        self._shut_out.add(owner)
        log.info("copy %s left a transaction open; it is aborted", owner)
        identity = transactional_id(self.plan.name, owner)
        with suppress(DeliveryFailed):
            self.client.copy_writer(identity, self.milliseconds).close()


@dataclass
class _Patience:
    """Do something once when nothing has moved for a while, and give up after a long one."""

    do: Callable[[], object]
    seconds: float = _PATIENCE_SECONDS
    _moved: float = field(default_factory=time.monotonic, init=False)
    _done: bool = field(default=False, init=False)

    @property
    def is_over(self) -> bool:
        """Return whether it was done."""
        return self._done

    def __call__(self) -> None:
        if not self._done and time.monotonic() - self._moved > self.seconds:
            self._done = True
            self.do()

    def moved(self) -> None:
        """Note that something has moved."""
        self._moved = time.monotonic()

    def require_hope(self, topic: str, partition: int, offset: int) -> None:
        """Raise `KafkaUnavailable` after a minute."""
        if time.monotonic() - self._moved > _LONGEST_SECONDS:
            raise KafkaUnavailable(
                f"topic {topic}, partition {partition}: nothing behind offset {offset} can be read "
                f"for {_LONGEST_SECONDS:.0f} s, because a transaction is open there. "
                "kafka-transactions.sh find-hanging names its producer"
            )


def _read_to(
    reader: Reader, partition: int, bounds: Bounds, found: ChainReader[CopiedTable], look: _Patience
) -> None:
    """Read a partition of the state up to its end, open transactions included."""
    reader.assign({partition: bounds.start})
    while (at := reader.position(partition) or 0) < bounds.end:
        batches = reader.poll(_POLLED)
        for batch in batches:
            look.moved()
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                if offset < bounds.end:
                    found.take(key, value)
        if not batches:
            look()
            look.require_hope(found.topic, partition, at)
            time.sleep(_PAUSE_SECONDS)


def transactional_id(pipeline: str, instance: str) -> str:
    """Return the transactional id of a copy."""
    return f"{identity_of(pipeline)}.{instance}"
