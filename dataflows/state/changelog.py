"""Write the rows of one partition as a chain of blocks in a compacted topic.

A block holds what changed since the block before, and says how far the source is read. Blocks form
generations: the first block of one holds the whole table, and every record of the generation before
is taken back in the same transaction. Each block names the digest of the block before, so that no
record can be lost without being missed.

    key    G/N/I/K            piece I of K of block N of generation G
    value  u32 header length, header (JSON), row block
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from fugu.dataflows.base.errors import OtherVersion
from fugu.dataflows.kafka.client import Entry
from fugu.dataflows.state.row_log import Kept

FORMAT: Final = 1
PIECE_BYTES = 900_000
"""The largest value of a record: topics take a megabyte by default."""
_LEAST_GENERATION_BYTES = 2**20
_MORE_THAN_ANY = 2**62
_LONGEST_KEY = 100
_SIZE_BYTES = 4
DIGEST_BYTES = 16
FIRST = bytes(DIGEST_BYTES)
"""Stands for the digest of the block before the first one."""

Ends = dict[str, dict[str, int]]
"""Offsets by output topic and partition."""


class Progress(BaseModel):
    """Say how far a partition has come, and what of its output counts.

    `position` is the next source offset. From the offsets `ends` on, `published` releases of each
    output topic are committed with this block or before it. `instance` and `epoch` name the copy
    that wrote it, and the generation of its consumer group. A chain that is `finished` let out what
    its streams held back. Where the copy gave the partition up with this block, it has `left`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    position: int
    ends: Ends
    published: dict[str, int]
    instance: str
    epoch: int
    finished: bool = False
    left: bool = False


class Header(Progress):
    """Describe a block: its partition, its format, and the digest of the block before."""

    format: Literal[1] = FORMAT
    partition: int
    before: str


@dataclass(frozen=True)
class Place:
    """Name one record of a chain.

    >>> Place.of(b"3/12/0/1"), Place.of(b"3/12/0/1").key, Place.of(b"fingerprint")
    (Place(generation=3, number=12, piece=0, pieces=1), b'3/12/0/1', None)
    """

    generation: int
    number: int
    piece: int
    pieces: int

    @classmethod
    def of(cls, key: bytes | None) -> "Place | None":
        """Return the place that a key names; None if it names none."""
        parts = (key or b"")[:_LONGEST_KEY].split(b"/")
        if len(parts) != 4 or not all(part.isdigit() for part in parts):
            return None
        place = cls(*map(int, parts))
        return place if place.key == key and place.piece < place.pieces else None

    @property
    def key(self) -> bytes:
        """Return the key of the record."""
        return b"%d/%d/%d/%d" % (self.generation, self.number, self.piece, self.pieces)


@dataclass
class Chain:
    """Hold where the chain of one partition stands, of which the last block is committed.

    A block is appended once. Whoever does not commit it forgets the chain.
    """

    partition: int
    generation: int = 0
    number: int = -1
    before: bytes = FIRST
    keys: list[bytes] = field(default_factory=list)
    """The keys of the generation."""
    first_bytes: int = 0
    later_bytes: int = 0

    def append(self, table: Kept, progress: Progress) -> list[Entry]:
        """Return the records of the next block, and those that take the last generation back."""
        whole = self.is_full
        dropped = list[Entry]()
        if whole:
            dropped = [(key, None) for key in self.keys]
            self.generation, self.number, self.keys = self.generation + 1, -1, []
        body = table.take_everything() if whole else table.take_changes()
        header = Header(**progress.model_dump(), partition=self.partition, before=self.before.hex())
        content = written(header, body)
        self.add(self.number + 1, content)
        pieces = range(0, len(content), PIECE_BYTES)
        places = [Place(self.generation, self.number, i, len(pieces)) for i in range(len(pieces))]
        self.keys += [place.key for place in places]
        values = [content[start : start + PIECE_BYTES] for start in pieces]
        return [*zip((place.key for place in places), values, strict=True), *dropped]

    def renew(self) -> None:
        """Let the next block begin a generation."""
        self.later_bytes = _MORE_THAN_ANY

    @property
    def is_full(self) -> bool:
        """Return whether the next block begins a generation."""
        most = max(_LEAST_GENERATION_BYTES, self.first_bytes)
        return self.generation == 0 or self.later_bytes > most

    def add(self, number: int, content: bytes) -> None:
        """Include a block, which was written or read."""
        if number == 0:
            self.first_bytes, self.later_bytes = len(content), 0
        else:
            self.later_bytes += len(content)
        self.number, self.before = number, digest_of(self.before, content)


def written(header: Header, body: bytes) -> bytes:
    """Return a block as its pieces hold it."""
    unsaid = None if header.left else {"left"}
    described = header.model_dump_json(exclude=unsaid).encode()
    return b"".join([len(described).to_bytes(_SIZE_BYTES, "little"), described, body])


def read(content: bytes) -> tuple[Header, bytes]:
    """Return header and rows of a block; `ValueError` where it is none.

    Raises `OtherVersion` where another version of Fugu wrote it.
    """
    end = _SIZE_BYTES + int.from_bytes(content[:_SIZE_BYTES], "little")
    described = content[_SIZE_BYTES:end]
    try:
        return Header.model_validate_json(described), content[end:]
    except ValidationError:
        said = from_json(described)
        if isinstance(said, dict) and said.get("format", FORMAT) != FORMAT:
            raise OtherVersion("a block", said["format"], FORMAT) from None
        raise


def digest_of(before: bytes, content: bytes) -> bytes:
    """Return the digest of a block, header and rows, by that of the block before."""
    digest = blake2b(before, digest_size=DIGEST_BYTES)
    digest.update(memoryview(content)[_SIZE_BYTES:])
    return digest.digest()
