"""Keep the state of one partition: a table from stream key to row, and the mechanism's columns.

A table is written as blocks: the rows that changed since the last block (of payloads only those
that did) and the keys that are new.
Applying all blocks in order to an empty table gives the table.

A block with the whole table is also where it is compacted: streams that are exhausted for good
give up their row, and what still counts of them is kept in `SpentRows`. Nothing published depends
on when that happens.
"""

from collections.abc import Callable, Sequence

import numpy as np

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.state.key_index import KeyIndex, new_index
from fugu.dataflows.state.row_block import (
    column_bytes,
    described,
    number_bytes,
    payloads_of,
    read,
    string_bytes,
    written,
)
from fugu.dataflows.state.spent_rows import DIGEST_BYTES, SpentRows
from fugu.operators.columns import ByteColumn, joined, put, selected, taken
from fugu.operators.mechanism import Array, ExhaustibleMechanism, Integers, State

Start = Callable[[int], State]
"""Makes the columns of fresh rows."""
_FIRST_CAPACITY = 64


class RowTable:
    """Hand rows out in order of first appearance; those of spent streams are negative."""

    def __init__(self, start: Start, exhaustible: ExhaustibleMechanism | None = None) -> None:
        """Take what makes the columns of fresh rows, and who knows whose end came."""
        self._start = start
        self._exhaustible = exhaustible
        self._keys: KeyIndex = new_index()
        self._columns: State = start(0)
        self._changed = np.zeros(0, dtype=bool)
        self._renamed: set[int] = set()
        self._written_keys = 0
        self._written_payloads = payloads_of(start(0))
        self._spent = SpentRows(self._lasting(self._columns))
        self._strangers = 0
        self.rows_taken = 0
        """Rows in all blocks taken so far."""
        self.clock: dict[str, int] = {}
        """The place of the partition in event time, if anything depends on it."""

    def __len__(self) -> int:
        return len(self._keys) + self.compacted

    def __contains__(self, key: bytes) -> bool:
        if self._keys.row_of(key) >= 0:
            return True
        return bool(len(self._spent)) and int(self._spent.find([key])[0]) >= 0

    @property
    def compacted(self) -> int:
        """Return how many of the streams are kept as digests only.

        Where nobody knows to which partition a digest belongs, each partition counts its share.
        """
        return len(self._spent) - self._strangers

    @property
    def bytes_per_row(self) -> int:
        """Return the bytes that one row takes in a block. What its key and its payloads hold is not
        counted, so that no length shows."""
        columns = self._columns.values()
        return sum(int(np.prod(c.shape[1:])) * c.dtype.itemsize for c in columns)

    def unknown(self, keys: Sequence[bytes]) -> list[int]:
        """Return indices of the keys that have no row yet."""
        new: list[int] = self._found(keys)[1].tolist()
        return new

    def known_rows(self, keys: Sequence[bytes]) -> Integers | None:
        """Return the row of each key, if each of them has one."""
        rows, new = self._found(keys)
        return None if len(new) else rows

    def rows_of(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key; new keys get fresh rows."""
        if len(self._spent):
            rows, new = self._found(keys)
            rows[new] = self._keys.add(selected(keys, new))
        else:
            rows = self._keys.add(keys)
        self._grow()
        return rows

    def row_of(self, key: bytes) -> int:
        """Return the row of one key."""
        row = self._keys.row_of(key)
        return int(self.rows_of([key])[0]) if row < 0 else row

    @property
    def keys(self) -> list[bytes]:
        """Return the key of each row."""
        return list(self.keys_of(np.arange(len(self._keys))))

    def keys_of(self, rows: Integers) -> ByteColumn:
        """Return the keys of rows; spent streams have none any more."""
        return self._keys.keys_of(rows)

    def recycle(self, row: int, key: bytes) -> None:
        """Give a row to a new key, fresh; the key that had it is unknown from now on."""
        self._keys.rename(np.array([row]), [key])
        fresh = self._start(1)
        for name, column in self._columns.items():
            column[row] = fresh[name][0]
        self._renamed.add(row)
        self.touch(row)

    @property
    def columns(self) -> State:
        """Return all rows that are not spent, not copied."""
        return {name: self.live(name) for name in self._columns}

    def live(self, name: str) -> Array:
        """Return one column, not copied; rows that are written to must be `touch`ed."""
        return self._columns[name][: len(self._keys)]

    def touch(self, rows: Integers | int) -> None:
        """Note rows that have changed and are to be written."""
        self._changed[rows] = True

    def gather(self, rows: Integers) -> State:
        """Return copies of the given rows."""
        spent = np.flatnonzero(rows < 0)
        if not len(spent):
            return {name: column.take(rows, axis=0) for name, column in self._columns.items()}
        state, live = self._start(len(rows)), np.flatnonzero(rows >= 0)
        put(state, live, taken(self._columns, rows[live]))
        put(state, spent, taken(self._spent.columns, -1 - rows[spent]))
        return state

    def scatter(self, rows: Integers, state: State) -> None:
        """Write rows back; `rows` are distinct. Spent streams never change."""
        live = rows >= 0
        if not live.all():
            rows, state = rows[live], taken(state, live)
        for name, column in self._columns.items():
            column[rows] = state[name]
        self._changed[rows] = True

    def column(self, name: str) -> Array:
        """Return one of the lasting columns, of every stream."""
        lasting = self._columns[name][: len(self._keys)]
        if not len(self._spent):
            return lasting.copy()
        return np.concatenate([lasting, self._spent.columns[name]])

    def converted(
        self,
        start: Start,
        exhaustible: ExhaustibleMechanism | None,
        convert: Callable[[list[bytes], State], State],
        lasting: Callable[[State], State] = dict,
    ) -> "RowTable":
        """Return the same streams in a table for another mechanism.

        `convert` makes the columns of the streams that have a key, and `lasting` those of the
        streams that are exhausted for good, which stay so.
        """
        table, keys = RowTable(start, exhaustible), self.keys
        table.scatter(table.rows_of(keys), convert(keys, self.columns))
        if len(self._spent):
            table._spent = SpentRows(lasting(self._spent.columns), self._spent.digests)
            table._strangers = self._strangers
        table.clock = self.clock
        return table

    @property
    def lasting(self) -> State:
        """Return what is kept of streams that are exhausted for good, not copied."""
        return self._spent.columns

    def take_in(self, other: "RowTable", rows: Integers) -> None:
        """Add rows of another table, as they are; `StartRefused` if one of the keys has a row."""
        keys = other.keys_of(rows)
        if len(self.unknown(keys)) < len(keys):
            raise StartRefused(
                "a key has rows in two partitions, because source.partitioner was unchecked and "
                f"its records came in both. Two ledgers cannot become one; {NEW_PIPELINE}."
            )
        self.scatter(self.rows_of(keys), taken(other.columns, rows))

    def take_in_spent(self, others: Sequence["RowTable"], partitions: int) -> None:
        """Add the streams of other tables that are exhausted for good, of so many partitions."""
        for other in others:
            self._spent = self._spent.united(other._spent)
        self._strangers = len(self._spent) - -(-len(self._spent) // partitions)

    def take_changes(self) -> bytes:
        """Return one block with everything that changed since the last one."""
        return self._take(SpentRows(self._lasting(self._start(0))))

    def take_everything(self) -> bytes:
        """Compact, and return one block that makes the whole table when applied to an empty one."""
        self._compact()
        self._changed[: len(self._keys)] = True
        self._written_keys = 0
        self._written_payloads = payloads_of(self._start(len(self._changed)))
        return self._take(self._spent)

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged or of another mechanism."""
        header, body = read(block)
        if (
            header["columns"] != described(self._columns)
            or header["lasting"] != list(self._spent.columns)
            or header["first_key"] != len(self._keys)
            or (header["spent"] and len(self))
        ):
            raise StartRefused(
                "the stored state belongs to another operator or alphabet, or a part of it is "
                "missing. Restore the state directory from a backup."
            )
        rows = body.take(header["rows"], "<i8")
        new_keys = body.take_strings(header["new_keys"])
        renamed = body.take(header.get("renamed", 0), "<i8").astype(np.int64)
        if other_keys := body.take_strings(len(renamed)):
            self._keys.rename(renamed, other_keys)
        self._keys.add(new_keys)
        self._grow()
        before = taken(self._written_payloads, rows)
        written_as = {name: self._columns[name] for name in header["columns"]}
        columns = body.take_columns(written_as, len(rows), before)
        put(self._columns, rows, columns)
        put(self._written_payloads, rows, payloads_of(columns))
        self.clock = header.get("clock", {})
        if header["spent"]:
            columns = body.take_columns(self._spent.columns, header["spent"])
            [digests] = body.take_each([header["spent"] * DIGEST_BYTES])
            self._spent = SpentRows.from_bytes(columns, digests)
            self._strangers = header.get("strangers", 0)
        self._written_keys = len(self._keys)

    def _take(self, spent: SpentRows) -> bytes:
        rows = np.flatnonzero(self._changed[: len(self._keys)])
        columns, before = taken(self._columns, rows), taken(self._written_payloads, rows)
        new_keys = self.keys_of(np.arange(self._written_keys, len(self._keys)))
        renamed = np.array(sorted(row for row in self._renamed if row < self._written_keys))
        other_keys = self.keys_of(renamed.astype(np.int64))
        block = written(
            {
                "rows": len(rows),
                "first_key": self._written_keys,
                "new_keys": len(new_keys),
                "columns": described(self._columns),
                "lasting": list(spent.columns),
                "spent": len(spent),
                **({"renamed": len(renamed)} if len(renamed) else {}),
                **({"strangers": self._strangers} if len(spent) and self._strangers else {}),
                **({"clock": self.clock} if self.clock else {}),
            },
            [
                number_bytes(rows.astype("<i8")),
                *string_bytes(new_keys),
                number_bytes(renamed.astype("<i8")),
                *string_bytes(other_keys),
                *column_bytes(columns, before),
                *column_bytes(spent.columns),
                spent.to_bytes(),
            ],
        )
        self._changed[:] = False
        self._renamed.clear()
        self._written_keys = len(self._keys)
        put(self._written_payloads, rows, payloads_of(columns))
        self.rows_taken += len(rows)
        return block

    def _compact(self) -> None:
        if self._exhaustible is None:
            return
        columns = self.columns
        ended = self._exhaustible.exhausted(columns)
        if not ended.any():
            return
        gone, stay = np.flatnonzero(ended), np.flatnonzero(~ended)
        lasting = taken(self._lasting(columns), gone)
        self._spent = self._spent.joined(self.keys_of(gone), lasting)
        keys, self._keys = self.keys_of(stay), new_index()
        self._keys.add(keys)
        self._columns = taken(columns, stay)
        self._changed = np.zeros(len(stay), dtype=bool)

    def _found(self, keys: Sequence[bytes]) -> tuple[Integers, Integers]:
        """Return the row of each key, and the places of keys that have none."""
        rows = self._keys.find(keys)
        new = np.flatnonzero(rows < 0)
        if len(new) and len(self._spent):
            spent = self._spent.find(selected(keys, new))
            rows[new] = -1 - spent
            new = new[spent < 0]
        return rows, new

    def _grow(self) -> None:
        rows, before = len(self._keys), len(self._changed)
        if rows <= before:
            return
        capacity = max(_FIRST_CAPACITY, 2 * before, rows)
        fresh = self._start(capacity - before)
        self._columns, self._written_payloads = (
            joined([columns, fresh]) for columns in (self._columns, self._written_payloads)
        )
        self._changed = np.concatenate([self._changed, np.zeros(capacity - before, dtype=bool)])

    def _lasting(self, columns: State) -> State:
        names = () if self._exhaustible is None else self._exhaustible.lasting
        return {name: columns[name] for name in names}
