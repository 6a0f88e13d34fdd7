"""Hold what flows: columns of the records that one fetch returned, and why records are refused."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from fugu.operators.columns import selected
from fugu.operators.mechanism import Array, Integers, Releases

Header = tuple[str, bytes]


class Reason(StrEnum):
    """Name why a record became a dead letter."""

    NO_KEY = "no_key"
    TOMBSTONE = "tombstone"
    TOO_LARGE = "too_large"
    NOT_JSON = "not_json"
    BYTE_ORDER_MARK = "byte_order_mark"
    UNREADABLE = "unreadable"
    FIELD_MISSING = "field_missing"
    WRONG_TYPE = "wrong_type"
    NOT_FINITE = "not_finite"
    OUTSIDE_DOMAIN = "outside_domain"
    DUPLICATE = "duplicate"
    WRONG_PARTITION = "wrong_partition"
    TOO_MANY_KEYS = "too_many_keys"
    UNKNOWN_BUDGET = "unknown_budget"
    LATE = "late"
    TOO_FAR_AHEAD = "too_far_ahead"
    TIME_NOT_BEGUN = "time_not_begun"
    SECOND_IN_TICK = "second_in_tick"
    OTHER_SENSITIVE_VALUE = "other_sensitive_value"
    TOO_MANY_PEOPLE = "too_many_people"
    TOO_MANY_POINTS = "too_many_points"
    NO_COLLECTION = "no_collection"
    BAD_POLICY = "bad_policy"
    ROW_DELETED = "row_deleted"
    UNAVAILABLE_VALUE = "unavailable_value"
    NO_SCHEMA_ID = "no_schema_id"
    UNKNOWN_SCHEMA = "unknown_schema"
    UNUSABLE_SCHEMA = "unusable_schema"
    NOT_AS_SCHEMA = "not_as_schema"
    NOT_FORWARDED = "not_forwarded"


@dataclass(frozen=True)
class Batch:
    """Hold records as Kafka has them.

    All columns of one object have the same length; index i is one record. A column is a list, or an
    array that presents itself as a sequence (`ByteColumn`, `OptionalByteColumn`, `IntegerColumn`,
    `HeaderColumns`): compiled code reads that without an object for each record. Both give the
    same.
    """

    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[list[Header]]

    def records(self) -> Iterator[tuple[int, int, bytes | None, bytes | None, list[Header]]]:
        """Yield offset, timestamp, key, value and headers of each record."""
        return zip(self.offsets, self.timestamps, self.keys, self.values, self.headers, strict=True)

    def at(self, places: Integers | Sequence[int]) -> "Batch":
        """Return the records at these places."""
        return Batch(
            self.partition,
            selected(self.offsets, places),
            selected(self.timestamps, places),
            selected(self.keys, places),
            selected(self.values, places),
            selected(self.headers, places),
        )


@dataclass(frozen=True)
class Unread(Batch):
    """Hold offsets of records that are not unpacked, because together they are too large."""

    @classmethod
    def between(cls, partition: int, offsets: range, timestamp: int) -> "Unread":
        """Return records at these offsets, of which nothing else is known."""
        nothing = [None] * len(offsets)
        times = [timestamp] * len(offsets)
        return cls(partition, offsets, times, nothing, nothing, [[]] * len(offsets))


@dataclass(frozen=True)
class DeadLetters:
    """Hold coordinates of refused records; `fields` is empty where no field is to blame.

    Of a record that is `UNREADABLE` it holds the class of the exception.
    """

    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)

    def add(self, offset: int, timestamp: int, reason: Reason, name: str = "") -> None:
        """Append one refused record."""
        self.offsets.append(offset)
        self.timestamps.append(timestamp)
        self.reasons.append(reason)
        self.fields.append(name)

    def extend(self, others: "DeadLetters") -> None:
        """Append other refused records."""
        for own, further in zip(vars(self).values(), vars(others).values(), strict=True):
            own.extend(further)

    def without(self, offsets: Collection[int]) -> "DeadLetters":
        """Leave out records at these offsets."""
        return self._at([i for i, offset in enumerate(self.offsets) if offset not in offsets])

    def in_order(self) -> "DeadLetters":
        """Sort by offset, so that the order in which records were refused never shows."""
        return self._at(sorted(range(len(self.offsets)), key=self.offsets.__getitem__))

    def _at(self, places: list[int]) -> "DeadLetters":
        return DeadLetters(*([column[i] for i in places] for column in vars(self).values()))


@dataclass(frozen=True)
class RefusedRecords:
    """Hold refused records whose key and time can be read: their presence counts."""

    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)

    def at(self, places: Sequence[int]) -> "RefusedRecords":
        """Return some of the records, in the order of these places."""
        return RefusedRecords(*([column[i] for i in places] for column in vars(self).values()))


@dataclass(frozen=True)
class Decoded:
    """Hold accepted records, reduced to what the mechanism reads, and the refused ones.

    `events` holds digests of event ids, where the pipeline removes duplicates by them. `dead` are
    all refused records, `refused` those whose key and time are known.
    """

    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes]
    values: Array
    events: Sequence[int] | None
    dead: DeadLetters
    refused: RefusedRecords = field(default_factory=RefusedRecords)

    @property
    def end(self) -> int:
        """Return the offset behind the last record; 0 without any."""
        last = [int(one[-1]) for one in (self.offsets, self.refused.offsets) if len(one)]
        return max([*last, *self.dead.offsets], default=-1) + 1

    def cut(self, offset: int) -> "tuple[Decoded, Decoded]":
        """Return the records before an offset, and those from there on."""
        before = np.searchsorted(np.asarray(self.offsets, dtype=np.int64), offset)
        places = np.arange(len(self.offsets))
        return self._kept(places[:before], lambda at: at < offset), self._kept(
            places[before:], lambda at: at >= offset
        )

    def without(self, offsets: Collection[int]) -> "Decoded":
        """Leave out records at these offsets, whether they are accepted or refused."""
        kept = [place for place, offset in enumerate(self.offsets) if offset not in offsets]
        return self._kept(np.array(kept, dtype=np.int64), lambda at: at not in offsets)

    def at(self, places: Integers) -> "Decoded":
        """Return the accepted records at these places; the same if it is all, in order."""
        if np.array_equal(places, np.arange(len(self.offsets))):
            return self
        return replace(
            self,
            offsets=selected(self.offsets, places),
            timestamps=selected(self.timestamps, places),
            keys=selected(self.keys, places),
            values=self.values[places],
            events=None if self.events is None else selected(self.events, places),
        )

    def _kept(self, places: Integers, holds: Callable[[int], bool]) -> "Decoded":
        """Return these accepted records, and the refused ones whose offset `holds`."""
        refused = [i for i, at in enumerate(self.refused.offsets) if holds(at)]
        return replace(
            self.at(places),
            dead=self.dead.without({at for at in self.dead.offsets if not holds(at)}),
            refused=self.refused.at(refused),
        )


@dataclass(frozen=True)
class Spending:
    """Hold streams that have just spent another tenth of their budget; a function of releases."""

    offsets: Sequence[int] = ()
    timestamps: Sequence[int] = ()
    keys: Sequence[bytes] = ()
    levels: Sequence[int] = ()


@dataclass(frozen=True)
class Sanitized:
    """Hold releases in input order, with the public coordinates they are published under.

    Suppressed releases are left out; dead letters and spending are in input order too. Releases of
    ticks, and not of records, have `epochs`; their `offsets` are the ticks. Those at the end of
    streams are in epoch 0, and their `offsets` count the releases before them.
    """

    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes]
    releases: Releases
    dead: DeadLetters
    spending: Spending = field(default_factory=Spending)
    epochs: Sequence[int] | None = None


@dataclass(frozen=True)
class Outgoing:
    """Hold records to be published: complete bytes, named by release id.

    `positions` are the source offsets they come from, or their ticks; they are never published.
    Records that are `behind_all` have no id: they are written again whenever they are made, once
    everything before them is acknowledged.
    """

    partition: int
    keys: Sequence[bytes | None]
    values: Sequence[bytes]
    headers: Sequence[list[Header]]
    timestamps: Sequence[int]
    positions: Sequence[int] = ()
    behind_all: bool = field(default=False, kw_only=True)

    def at(self, places: Sequence[int]) -> "Outgoing":
        """Return the records at these places."""
        return Outgoing(
            self.partition,
            selected(self.keys, places),
            selected(self.values, places),
            selected(self.headers, places),
            selected(self.timestamps, places),
            selected(self.positions, places) if self.positions else (),
        )


# Say for every reason of dead letters what to do if many records are refused for it.


ADVICE: Mapping[Reason, str] = {
    Reason.NO_KEY: "producers must send the user as the key of every record, or as source.key says",
    Reason.TOMBSTONE: "producers send records without a value, which hold nothing to release",
    Reason.TOO_LARGE: "raise source.max_value_bytes, or send smaller records",
    Reason.NOT_JSON: "producers must write JSON objects; look at one of these records",
    Reason.BYTE_ORDER_MARK: (
        "producers write a byte order mark in front of JSON, as editors and .NET do; they must "
        "write UTF-8 without one"
    ),
    Reason.UNREADABLE: (
        "reading these records fails in a way that Fugu does not foresee, which is a defect; "
        "please report the exception and the line of code that the log names"
    ),
    Reason.FIELD_MISSING: "records lack a field that source names; dead letters say which one",
    Reason.WRONG_TYPE: "a field has another type than it should; dead letters say which one",
    Reason.NOT_FINITE: "a field holds a number that is too large, or none; dead letters say which",
    Reason.OUTSIDE_DOMAIN: "values are not among those of the operator; see its section",
    Reason.DUPLICATE: "producers send the same events again (source.dedupe)",
    Reason.WRONG_PARTITION: (
        "producers use another partitioner, or the topic was extended; run fugu validate --kafka, "
        "then fugu state repartition, and fugu redrive for the records that were refused"
    ),
    Reason.UNKNOWN_BUDGET: (
        "these users were released under pseudonyms before records were lost, and nobody knows "
        "what they have spent: they stay refused"
    ),
    Reason.TOO_MANY_KEYS: "raise state.max_keys, then fugu redrive --reason too_many_keys",
    Reason.LATE: "records come too late for their tick; raise ticks.grace in a new pipeline",
    Reason.TOO_FAR_AHEAD: (
        "a clock is wrong (certainly where the dead letter names a field: its time is more than "
        "ticks.stream_time.max_ahead after Kafka's), or stream time waits: too few people move it "
        "(ticks.stream_time), or it was silent for longer than ticks.max_jump and goes on by itself"
    ),
    Reason.TIME_NOT_BEGUN: (
        "stream time begins when enough people have sent records, or a heartbeat "
        "(ticks.stream_time). If this partition has fewer people, lower distinct_keys or declare "
        "heartbeats at a stop"
    ),
    Reason.SECOND_IN_TICK: "a stream has several records in a tick; see ticks.several",
    Reason.OTHER_SENSITIVE_VALUE: (
        "records of a person say two sensitive values in a window; the first one counts. Correct "
        "the producer, or shorten the window"
    ),
    Reason.TOO_MANY_PEOPLE: (
        "a partition has more people in a window than its share of operator.max_people; raise that "
        "in a new pipeline, or add partitions"
    ),
    Reason.TOO_MANY_POINTS: (
        "a person has more points in a window than operator.max_points; a larger quantum makes "
        "fewer of them"
    ),
    Reason.NO_COLLECTION: "keys belong to no collection of the policy document",
    Reason.ROW_DELETED: "rows were deleted at the source, which leaves nothing to release",
    Reason.UNAVAILABLE_VALUE: (
        "Debezium did not know the value, because an update has not touched it; set REPLICA "
        "IDENTITY FULL on the table, or its equivalent in your database"
    ),
    Reason.NO_SCHEMA_ID: "producers must write by a serializer of the schema registry",
    Reason.UNKNOWN_SCHEMA: "the registry has no such schema; is source.format.registry theirs?",
    Reason.UNUSABLE_SCHEMA: (
        "a schema is of another kind, or holds not all fields that source names; dead letters have "
        "its id"
    ),
    Reason.NOT_AS_SCHEMA: "records are not as their schema says; a producer is wrong",
    Reason.NOT_FORWARDED: (
        "somebody else writes into the internal topic of source.key.repartition; let nobody"
    ),
    Reason.BAD_POLICY: "changes of policies are wrong; the log says why",
}
