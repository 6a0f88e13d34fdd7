"""Define the small interface behind which every Kafka client lives.

Another client is some more files with these classes; source, sink and topic checks never change. An
implementation uses its library's public calls only and publishes the same bytes as every other.
Failures are `fugu.dataflows.base.errors`, whose texts hold coordinates and never values.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from fugu.dataflows.base.batches import Batch, Outgoing

_MAGIC = b"CGMDv2:"
_GENERATION_BYTES = 4


@dataclass(frozen=True)
class GroupMetadata:
    """Hold a membership in a consumer group; `written` is what transactions are given.

    `CGMDv2:`, i32 generation, group, 0, member, 0, and what follows about a static member. A member
    that has left its group has generation -1 and no name, which Kafka takes from old clients and
    fences nobody by, so whoever commits must look.
    """

    written: bytes
    generation: int
    group: str
    member: str

    @classmethod
    def read(cls, written: bytes) -> "GroupMetadata":
        """Read what librdkafka wrote; `ValueError` if it is of another form.

        >>> known = GroupMetadata.read(b"CGMDv2:" + (7).to_bytes(4, "little") + b"group\\0me\\0\\1")
        >>> known.generation, known.group, known.member, known.is_of("me"), known.is_of("you")
        (7, 'group', 'me', True, False)
        """
        end = len(_MAGIC) + _GENERATION_BYTES
        names = written[end:].split(b"\0")
        if not written.startswith(_MAGIC) or len(names) <= 2:
            raise ValueError("this librdkafka describes consumer groups in another form")
        generation = int.from_bytes(written[len(_MAGIC) : end], sys.byteorder, signed=True)
        return cls(written, generation, names[0].decode(), names[1].decode())

    def is_of(self, member: str) -> bool:
        """Return whether this is a membership now, and that of this member."""
        return self.generation >= 0 and bool(member) and self.member == member


@dataclass(frozen=True)
class Topic:
    """Describe a topic as the broker does.

    `identity` is its topic id, or a stand-in where the broker has none; `settings` is None where
    the broker does not tell, and so is `replicas`, how many brokers have each partition at least.
    """

    name: str
    identity: str
    partitions: int
    settings: Mapping[str, str] | None
    replicas: int | None = None


@dataclass(frozen=True)
class Bounds:
    """Hold the offsets of the first record still there and of the one to be written next."""

    start: int
    end: int


TRANSACTION_SECONDS = 180
"""Say how long the transaction of a process that died stays open, if no successor aborts it."""
EVERYBODY = "User:*"
"""Names whoever reaches the broker, in ACLs."""


@dataclass(frozen=True)
class Rights:
    """Hold who may do what to a topic: principals by the name of an operation in ACLs.

    Where no rule is about the topic (`ruled`), the broker lets in its super users, or everybody
    (`allow.everyone.if.no.acl.found`): it does not say which. Rules that deny are left out.
    """

    allowed: Mapping[str, frozenset[str]]
    ruled: bool = True

    def may(self, *operations: str) -> list[str]:
        """Return who is allowed to do any of this."""
        names = {*operations, "ALL"}
        return sorted({who for name in names for who in self.allowed.get(name, ())})


def identity_of(owner: str) -> str:
    """Return the name that an owner has for Kafka: of client, group and transactions."""
    return f"fugu.{owner}"


def publishing_in_words(client: "Client", pipeline: str) -> str:
    """Say whether the epochs of a pipeline are published in transactions, and why not."""
    because = client.without_transactions(pipeline)
    return f"without transactions ({because})" if because else "in transactions"


class Reader(Protocol):
    """Read committed records of some partitions of one topic, in order, from given offsets."""

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        """Read these partitions (and no others) from these offsets.

        `epochs` are the leader epochs of the records before, where they are known: then a poll
        finds out whether a partition was truncated since, though it has these offsets again.
        """

    def poll(self, max_records: int) -> list[Batch]:
        """Return what has arrived, without waiting: at most `max_records`.

        Raises `StartRefused` if an offset is no longer there, and `NotUnpacked`, once everything
        before it is returned, where a batch is not unpacked.
        """

    def pass_over(self, partition: int, offset: int) -> None:
        """Go on at this offset of an assigned partition, as who raises that can."""
        return

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        """Return where each partition starts and ends now."""

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        """Return the same, or why Kafka does not say it of a partition; in so many seconds at most,
        without those that were not asked for by then."""
        return {**self.bounds([*partitions])}

    def position(self, partition: int) -> int | None:
        """Return the next offset of an assigned partition, past control records; never wait."""

    def epoch(self, partition: int) -> int | None:
        """Return the leader epoch of the last record that was polled, where the client tells."""
        return None

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        """Yield all records of a partition with start <= offset < end; assigns that partition."""

    def close(self) -> None:
        """Release connections."""


class Writer(Protocol):
    """Publish records, with a bounded number of them unacknowledged."""

    def write(self, topic: str, outgoing: Outgoing) -> None:
        """Hand over records for one partition; blocks while too many are unacknowledged."""

    def flush(self) -> None:
        """Return once everything is acknowledged; `DeliveryFailed` if anything was not."""

    def owner_of(self, topic: str, partition: int) -> "Writer":
        """Return the writer of a partition that nobody else writes to.

        That is this one, or, with transactions, one for all of them: its predecessor is shut out,
        and what that left uncommitted is gone.
        """
        return self

    def abandon(self) -> None:
        """Take back what was written since the last flush, where transactions allow that."""
        return

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the last record this writer got acknowledged there, if any."""

    def close(self) -> None:
        """Release connections without waiting; unacknowledged records may be lost."""


class Client(Protocol):
    """Talk to Kafka through one library."""

    name: str

    def topic(self, name: str) -> Topic | None:
        """Return the broker's description of a topic; None if there is no such topic."""

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return which topics have these names now; None where there is none."""
        found = {name: self.topic(name) for name in names}
        return {name: None if one is None else one.identity for name, one in found.items()}

    def rights(self, topic: str) -> Rights | None:
        """Return who may do what to a topic; None where the broker does not tell."""

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic with the default replication; one that is there already stays as it is."""

    def add_partitions(self, name: str, partitions: int) -> None:
        """Extend a topic to so many partitions; one that has them already stays as it is."""

    def reader(self, topic: str, *, headers: bool = False, committed: bool = True) -> Reader:
        """Return a reader of one topic, which never resets an offset by itself.

        Without `headers`, a poll may leave them out. Without `committed`, its bounds count what an
        open transaction has written, too.
        """

    def delete_keys(self, topic: str, partition: int, keys: Sequence[bytes]) -> None:
        """Let the compaction of a topic remove everything with these keys."""

    def writer(self, owner: str | None = None) -> Writer:
        """Return an idempotent writer for any topic.

        With transactions, `owner` names who alone may write to what it is `owner_of`.
        """

    def without_transactions(self, pipeline: str) -> str:
        """Say why the epochs of a pipeline are not published in transactions; empty if they are.

        Kafka is asked once, if the pipeline file leaves it to it.
        """

    def end_transaction_of(self, owner: str) -> None:
        """Abort what an owner left open when it died; without the right to, Kafka does it later."""


Entry = tuple[bytes, bytes | None]
"""Hold key and value; without a value, everything with the key is taken back."""


class Rebalance(Protocol):
    """Receive what a consumer group gives and takes."""

    def given(self, partitions: Sequence[int], member: str) -> None:
        """Take these partitions over, as this member of the group."""

    def taken(self, partitions: Sequence[int]) -> None:
        """Finish with these partitions: once this returns, they may be those of another member."""

    def lost(self) -> None:
        """Give all partitions up: they may be those of others already."""

    def troubled(self, error: str) -> None:
        """Hear why the group cannot be joined now; it is tried again."""
        return


Place = tuple[str, int]
"""Names a topic and a partition."""
GroupState = Literal["settled", "dealing", "empty"]
"""Says whether a group has dealt its partitions out, is about to, or has no members."""


@dataclass(frozen=True)
class Member:
    """Describe a member of a consumer group by what it calls itself, where it is and what it has.

    `is_own`: it is a copy of the pipeline that asks, or a part of one.
    """

    client: str
    host: str
    is_own: bool
    partitions: frozenset[Place]


@dataclass(frozen=True)
class Group:
    """Describe a consumer group; what members have is known of a settled one only."""

    state: GroupState
    members: Sequence[Member]


class Groups(Protocol):
    """Look at consumer groups without being a member; `KafkaUnavailable` where nobody answers."""

    def group(self, name: str) -> Group:
        """Return who is in a group."""

    def committed(self, name: str, places: Sequence[Place]) -> dict[Place, int | None]:
        """Return committed positions as they are now, None where there is none."""

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has."""


class GroupMember(Protocol):
    """Belong to a consumer group that deals out the partitions of one topic."""

    def poll(self, seconds: float = 0.0) -> None:
        """Serve what the group tells; whoever does not poll for long is taken for dead."""

    @property
    def stood_still(self) -> bool:
        """Return whether nobody has polled for longer than a session lasts."""

    def listen(self) -> None:
        """Serve it for some heartbeats, which tell whoever stood still that it was counted out."""

    def metadata(self) -> GroupMetadata:
        """Return the membership as it is now."""

    def committed(
        self, partitions: Sequence[int], seconds: float, meanwhile: Callable[[], None]
    ) -> dict[int, int | None]:
        """Return the committed positions, None where there is none.

        Waits until no transaction is open that could change them; calls `meanwhile` in between.
        """

    def committed_epoch(self, partition: int) -> int | None:
        """Return the leader epoch that goes with the position that was told last, if any does."""
        return None

    def close(self) -> None:
        """Leave the group; what it takes then is told, too."""


class CopyWriter(Writer, Protocol):
    """Write cuts in transactions: records, and the positions in the source that they belong to."""

    def put(self, topic: str, partition: int, records: Sequence[Entry]) -> None:
        """Write records of a compacted topic, stamped with the time of writing."""

    def acknowledge(self) -> None:
        """Return once every record is acknowledged; nothing is committed."""

    def send_offsets(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        group: GroupMetadata,
        epochs: Mapping[int, int] | None = None,
    ) -> None:
        """Add positions by topic and partition, which Kafka takes from a present member only.

        `epochs` are those of `Reader.assign`.
        """

    def commit(self) -> None:
        """Commit; where no answer comes for long, `DeliveryFailed`, and Kafka decides."""


class CopyClient(Client, Protocol):
    """Talk to Kafka as a copy of a pipeline does whose state is in Kafka."""

    def member(self, group: str, topic: str, rebalance: Rebalance) -> GroupMember:
        """Join a group for a topic, cooperatively."""

    def groups(self) -> Groups:
        """Return what looks at consumer groups."""

    def copy_writer(self, identity: str, milliseconds: int) -> CopyWriter:
        """Return a writer; whoever had this transactional id before is shut out, and what that
        left open is aborted."""
