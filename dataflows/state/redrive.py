"""Keep which records were driven again, and what is to be published of them.

STATE/redrive/driven   every record that was ever driven again: it never is a second time
STATE/redrive/due      what the last command had to publish, complete records in their order

Both are written into STATE/redrive.next, which counts from the moment that the new rows do. So the
bytes are settled before the first of them is published.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.durable_file import replace_durably, sync_folder
from fugu.dataflows.state.row_block import number_bytes, read, string_bytes, written
from fugu.dataflows.state.row_log import blocks, framed
from fugu.operators.columns import ByteColumn, IntegerColumn, column_of
from fugu.operators.mechanism import Integers

FOLDER = "redrive"
_DRIVEN, _DUE = "driven", "due"

Output = Literal["sink", "ledger"]
"""Say where records are to be published."""
Begins = dict[Output, dict[str, int]]


@dataclass
class Tally:
    """Count what became of the records that a command drove again; `refused` are by reason."""

    records: int = 0
    released: int = 0
    repeated: int = 0
    suppressed: int = 0
    gone: int = 0
    foreign: int = 0
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Driven:
    """Hold the offsets of records that were driven, by partition; then what the last command did.

    It was command `number`, as the fingerprints of that state say. `begins` are where its records
    begin in the topics, and `due` is how many blocks of them it has written.
    """

    offsets: Mapping[int, Integers] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    begins: Begins = field(default_factory=dict)
    due: int = 0
    number: int = 0

    def require_number(self, number: int, folder: Path) -> None:
        """Raise `StartRefused` if this belongs to another state: records would be driven twice."""
        if self.number != number:
            raise StartRefused(
                f"{folder} is of another time than the rest of the state: it knows {self.number} "
                f"runs of fugu redrive, and there were {number}. Restore the state directory as a "
                "whole; without it, records would be released a second time."
            )

    @classmethod
    def read(cls, folder: Path) -> "Driven":
        """Return what a folder holds; nothing where records were never driven again."""
        try:
            content = (folder / _DRIVEN).read_bytes()
        except FileNotFoundError:
            return cls()
        header, body = read(content)
        offsets = {
            int(partition): body.take(count, "<i8").astype(np.int64)
            for partition, count in header["offsets"].items()
        }
        said = header["begins"], header["due"], header["number"]
        return cls(offsets, Tally(**header["tally"]), *said)

    def write(self, folder: Path) -> None:
        """Write it, durably."""
        header = {
            "offsets": {str(partition): len(own) for partition, own in self.offsets.items()},
            "tally": vars(self.tally),
            "begins": self.begins,
            "due": self.due,
            "number": self.number,
        }
        parts = [number_bytes(own.astype("<i8")) for own in self.offsets.values()]
        replace_durably(folder / _DRIVEN, written(header, parts))


@dataclass
class DueFile:
    """Write what is to be published, block by block."""

    file: BinaryIO
    count: int = 0

    def add(self, output: Output, outgoing: Outgoing) -> None:
        """Append records for one partition of a topic."""
        if not outgoing.values:
            return
        headers = [dict(one) for one in outgoing.headers]
        names = list(headers[0])
        keys = OptionalByteColumn.of(outgoing.keys)
        parts = [
            number_bytes(column_of(outgoing.timestamps).astype("<i8")),
            number_bytes(keys.lengths < 0),
            *string_bytes(ByteColumn.of([key or b"" for key in keys])),
            *string_bytes(ByteColumn.of(outgoing.values)),
        ]
        for name in names:
            parts += string_bytes(ByteColumn.of([one[name] for one in headers]))
        header = {
            "output": output,
            "partition": outgoing.partition,
            "records": len(outgoing.values),
            "headers": names,
        }
        self.file.write(framed(written(header, parts)))
        self.count += 1


@contextmanager
def due_file(folder: Path) -> Iterator[DueFile]:
    """Give a new file of what is to be published, which is durable at the end."""
    descriptor = os.open(folder / _DUE, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield DueFile(file)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def due_records(folder: Path, count: int) -> Iterator[tuple[Output, Outgoing]]:
    """Yield what is to be published, in its order; `StartRefused` if blocks are missing."""
    found = 0
    for block in blocks(folder / _DUE):
        yield _records_of(block)
        found += 1
    if found < count:
        raise StartRefused(
            f"{folder / _DUE} is shorter than it was. Restore the state directory from a backup, "
            "and run fugu redrive once more."
        )


def _records_of(block: bytes) -> tuple[Output, Outgoing]:
    header, body = read(block)
    count = header["records"]
    timestamps = IntegerColumn(body.take(count, "<i8").astype(np.int64))
    absent = body.take(count, "?").tolist()
    keys = [
        None if gone else key for gone, key in zip(absent, body.take_strings(count), strict=True)
    ]
    values = list(body.take_strings(count))
    contents: dict[str, ByteColumn | bytes] = {
        name: body.take_strings(count) for name in header["headers"]
    }
    headers = HeaderColumns(count, contents)
    return header["output"], Outgoing(header["partition"], keys, values, headers, timestamps)
