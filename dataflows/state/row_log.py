"""Keep one partition's rows in files: an append-only log of blocks per generation.

`append` writes the rows that changed, makes them durable, and returns a pointer that bytewax stores
with the epoch: partition, generation, length. The write may be done beside the dataflow; until it
is done, the pointer must not count, and nothing else is appended. `load` gives the table as of a
pointer: the first `length` bytes of that generation count, and whatever a crash left behind them is
removed.

When a log has grown past twice its first block, the next write begins a new generation with the
whole table, compacted. An old generation is deleted only after three more pointers, because bytewax
resumes at most two epochs back.

Generation 0 is there only where rows were carried over from another version of the pipeline: the
table of a partition that has no pointer yet.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import orjson

from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.state.durable_file import sync_folder
from fugu.dataflows.state.row_block import read
from fugu.dataflows.state.row_table import RowTable, Start
from fugu.dataflows.state.writes_beside import Write, at_once
from fugu.operators.mechanism import ExhaustibleMechanism

_KEPT_POINTERS = 3
_GROWTH = 2
_SMALL_BYTES = 1 << 20
_LENGTH_BYTES = 8
_ROWS = "partition"
"""Names logs of rows; logs of something else have another name."""


class Kept(Protocol):
    """Describe what is written as blocks: all of it, or what changed since the last one."""

    def take_changes(self) -> bytes: ...

    def take_everything(self) -> bytes: ...

    def apply(self, block: bytes) -> None: ...


Table = TypeVar("Table", bound=Kept)


class BlockLog(Generic[Table]):
    """Write and read what is kept of one partition in `directory`."""

    def __init__(self, directory: Path, partition: int, empty: Table, of: str = _ROWS) -> None:
        self.directory = directory
        self._of = of
        self.partition = partition
        self._generation = 0
        self._length = 0
        self._first_block = 0
        self._pointers_since_switch = _KEPT_POINTERS
        self.table = empty

    def load(self, pointer: bytes) -> None:
        """Continue as of a pointer that `append` of the same partition returned."""
        _, self._generation, self._length = _place(pointer)
        path = self._path(self._generation)
        _require_length(path, self._length)
        self._read(path, self._length)
        os.truncate(path, self._length)
        for newer in log_files(self.directory, self.partition, self._of):
            if generation_of(newer) > self._generation:
                newer.unlink()
        self._pointers_since_switch = 0

    def found(self, table: Table) -> None:
        """Write the rows that a partition without a pointer begins with."""
        self.table, self._generation = table, -1
        self._write(self._next_generation(), True)

    def begin(self) -> None:
        """Begin without a pointer: with the rows that were carried over, or with none."""
        if self._path(0).exists():
            self._read(self._path(0), self._path(0).stat().st_size)

    def append(self, begin: Callable[[Write], None] = at_once) -> bytes:
        """Take what changed, `begin` to write it, and return the pointer to it."""
        limit = max(_SMALL_BYTES, _GROWTH * self._first_block)
        if self._length == 0 or self._length > limit:
            block = self._next_generation()
        else:
            block = self.table.take_changes()
            self._pointers_since_switch += 1
        is_first = self._length == 0
        self._length += _LENGTH_BYTES + len(block)
        begin(partial(self._keep, block, is_first))
        place = {"partition": self.partition, "generation": self._generation}
        return orjson.dumps({**place, "length": self._length})

    def _read(self, path: Path, length: int | None) -> None:
        for block in blocks(path, length):
            self.table.apply(block)
            self._first_block = self._first_block or len(block)

    def _next_generation(self) -> bytes:
        """Go over to the next generation and return its first block."""
        block = self.table.take_everything()
        self._generation += 1
        self._length = self._pointers_since_switch = 0
        self._first_block = len(block)
        return block

    def _keep(self, block: bytes, is_first: bool) -> None:
        try:
            self._write(block, is_first)
            self._delete_old_generations()
        except OSError as error:
            raise FuguError(
                f"the state of partition {self.partition} cannot be written under "
                f"{self.directory} ({error.strerror}). Make room or repair the disk and start "
                "again: the pipeline continues from its last snapshot."
            ) from None

    def _write(self, block: bytes, is_first: bool) -> None:
        path = self._path(self._generation)
        if is_first:
            path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(framed(block))
            file.flush()
            os.fsync(file.fileno())
        if is_first:
            sync_folder(self.directory)

    def _delete_old_generations(self) -> None:
        if self._pointers_since_switch < _KEPT_POINTERS:
            return
        for path in log_files(self.directory, self.partition, self._of):
            if generation_of(path) < self._generation:
                path.unlink()

    def _path(self, generation: int) -> Path:
        return _path(self.directory, self._of, self.partition, generation)


class RowLog(BlockLog[RowTable]):
    """Write and read a row table."""

    def __init__(
        self,
        directory: Path,
        partition: int,
        start: Start,
        exhaustible: ExhaustibleMechanism | None = None,
    ) -> None:
        super().__init__(directory, partition, RowTable(start, exhaustible))


def read_rows(
    content: Iterator[bytes], start: Start, exhaustible: ExhaustibleMechanism | None
) -> RowTable:
    """Return the table that all blocks of a log make."""
    table = RowTable(start, exhaustible)
    for block in content:
        table.apply(block)
    return table


def pointed_at(directory: Path, pointer: bytes, of: str) -> Iterator[bytes]:
    """Yield the blocks of a pointer; `StartRefused` where a part of them is missing."""
    partition, generation, length = _place(pointer)
    path = _path(directory, of, partition, generation)
    _require_length(path, length)
    yield from blocks(path, length)


def resumed_blocks(directory: Path, partition: int, pointer: bytes | None) -> Iterator[bytes]:
    """Yield the blocks that a start goes on with: those of a pointer, or those carried over.

    Raises `StartRefused` where a part of them is missing or damaged.
    """
    if pointer is not None:
        yield from pointed_at(directory, pointer, _ROWS)
    elif (path := _path(directory, _ROWS, partition, 0)).exists():
        yield from blocks(path, path.stat().st_size)


def require_whole(directory: Path, pointer: bytes, of: str = _ROWS) -> None:
    """Raise what `load` raises where a part of a log is missing or damaged, and change nothing."""
    for block in pointed_at(directory, pointer, of):
        read(block)


def _require_length(path: Path, length: int) -> None:
    if not path.exists() or path.stat().st_size < length:
        raise StartRefused(
            f"{path} is missing or shorter than the last snapshot says. Restore the state "
            "directory from a backup; starting without it would reset budgets."
        )


def partition_of(pointer: bytes) -> int:
    """Return the partition that a pointer belongs to."""
    return _place(pointer)[0]


def _place(pointer: bytes) -> tuple[int, int, int]:
    """Return the partition, the generation and the length that a pointer names."""
    try:
        match orjson.loads(pointer):
            case {
                "partition": int(partition),
                "generation": int(generation),
                "length": int(length),
            }:
                return partition, generation, length
    except orjson.JSONDecodeError:
        pass
    raise StartRefused(
        "the recovery store is damaged: what it says of the rows cannot be read. Restore the state "
        "directory from a backup; starting without it would reset budgets."
    )


def framed(block: bytes) -> bytes:
    """Return a block as it stands in a log: its length, and itself."""
    return len(block).to_bytes(_LENGTH_BYTES, "little") + block


def blocks(path: Path, length: int | None = None) -> Iterator[bytes]:
    """Yield the blocks of a log; those in its first `length` bytes make up these exactly.

    Without a length, a last block that is not complete is what a crash left.
    """
    end = path.stat().st_size if length is None else length
    with path.open("rb") as file:
        while file.tell() + _LENGTH_BYTES <= end:
            size = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if file.tell() + size > end:
                break
            yield file.read(size)
        else:
            if file.tell() == end:
                return
    if length is not None:
        raise StartRefused(
            f"{path} is damaged: its blocks do not end where the last snapshot says. Restore the "
            "state directory from a backup; starting without it would reset budgets."
        )


def _path(directory: Path, of: str, partition: int, generation: int) -> Path:
    return directory / f"{of}-{partition:06d}.{generation:08d}.rows"


def log_files(directory: Path, partition: int, of: str = _ROWS) -> list[Path]:
    """Return the logs of one partition, oldest generation first."""
    return sorted(directory.glob(f"{of}-{partition:06d}.*.rows"))


def generation_of(path: Path) -> int:
    """Return the generation that a log file's name says."""
    return int(path.name.split(".")[1])
