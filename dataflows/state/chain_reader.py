"""Read the chain of one partition back, and miss every record that is not there any more.

Records come in the order of the log. The newest generation counts whose first block is whole; an
older one is never used in its place, because budgets would go back.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic

from pydantic import ValidationError

from fugu.dataflows.base.errors import OtherVersion, StartRefused
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.state.changelog import Chain, Header, Place, read
from fugu.dataflows.state.row_log import Table
from fugu.dataflows.state.state_topic import FINGERPRINT

Opened = Callable[[int, bytes, bytes], bytes]
"""Opens the value of a record, by partition and key; `ValueError` where that fails."""


def as_it_is(partition: int, key: bytes, value: bytes) -> bytes:
    """Return a value that is not sealed."""
    return value


class ChainReader(Generic[Table]):
    """Take records of one partition of the state in, and hold what they make."""

    def __init__(
        self, topic: str, partition: int, fresh: Callable[[], Table], opened: Opened = as_it_is
    ) -> None:
        self.topic, self._fresh, self._opened = topic, fresh, opened
        self.chain, self.table = Chain(partition), fresh()
        self.header: Header | None = None
        """The header of the last block."""
        self.fingerprint: bytes | None = None
        self.others = 0
        """The number of records that are none of a state."""
        self._pieces: list[bytes] = []
        self._open: Place | None = None
        self._problem = ""
        self._other: OtherVersion | None = None

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take the next record in."""
        place = Place.of(key)
        if key == FINGERPRINT:
            self.fingerprint = value
        elif place is None:
            self.others += 1
        elif value is None:
            self._take_back(place)
        else:
            try:
                self._take_piece(place, self._opened(self.chain.partition, place.key, value))
            except ValueError:
                self._problem = self._problem or f"block {_name(place)} was sealed elsewhere"

    @property
    def is_sound(self) -> bool:
        """Return whether nothing was wrong so far; a block may be read in part."""
        return not self._problem

    def require_whole(self) -> None:
        """Raise `StartRefused` where a record of the chain is missing, or is another one."""
        if self._open is not None and not self._problem:
            self._problem = f"block {_name(self._open)} is not whole"
        if self._other is not None:
            raise self._other
        if self._problem:
            raise StartRefused(
                f"topic {self.topic}, partition {self.chain.partition}: the state topic lost "
                f"records, or somebody else wrote to it ({self._problem}). Restore the topic. An "
                "earlier state is never used in its place, because budgets would go back."
            )

    def _take_back(self, place: Place) -> None:
        if place.generation == self.chain.generation:
            self._problem = self._problem or f"block {_name(place)} was deleted"

    def _take_piece(self, place: Place, value: bytes) -> None:
        begins = place.piece == 0 and self._follows(place)
        if begins and (self._open is None or place.number == 0):
            self._pieces, self._open = [value], place
        elif self._open is not None and place == _next(self._open):
            self._pieces.append(value)
            self._open = place
        else:
            self._problem = self._problem or f"block {_name(place)} is out of its order"
            return
        if place.piece == place.pieces - 1:
            self._take_block(place, b"".join(self._pieces))
            self._pieces, self._open = [], None

    def _follows(self, place: Place) -> bool:
        if place.number == 0:
            return place.generation > self.chain.generation
        return (place.generation, place.number) == (self.chain.generation, self.chain.number + 1)

    def _take_block(self, place: Place, content: bytes) -> None:
        if place.number == 0:
            self._begin(place.generation)
        try:
            header, rows = read(content)
        except OtherVersion as other:
            self._note_version(place, other)
            return
        except (ValidationError, ValueError):
            self._problem = self._problem or f"block {_name(place)} is damaged"
            return
        if header.partition != self.chain.partition:
            self._problem = self._problem or f"block {_name(place)} is of another partition"
        if place.number and header.before != self.chain.before.hex():
            self._problem = self._problem or f"block {_name(place)} follows another block"
        if self._problem:
            return
        if place.number == 0:  # what it follows may be gone, and need not be there
            self.chain.before = bytes.fromhex(header.before)
        self.chain.add(place.number, content)
        places = (
            Place(place.generation, place.number, i, place.pieces) for i in range(place.pieces)
        )
        self.chain.keys += [one.key for one in places]
        try:
            self.table.apply(rows)
        except OtherVersion as other:
            self._note_version(place, other)
        except StartRefused:
            self._problem = f"rows of block {_name(place)} are damaged, or of another operator"
        self.header = header

    def _begin(self, generation: int) -> None:
        """Begin with a whole table, whatever was wrong with the generation before."""
        self.chain, self._problem = Chain(self.chain.partition, generation), ""
        self.table, self.header, self._other = self._fresh(), None, None

    def _note_version(self, place: Place, other: OtherVersion) -> None:
        """Note the first block of another version, unless something was wrong before it."""
        if self._problem:
            return
        where = f"topic {self.topic}, partition {self.chain.partition}, block {_name(place)}"
        self._other = OtherVersion(where, other.found, other.read)
        self._problem = str(self._other)


def headers(reader: Reader, partition: int, bounds: Bounds, opened: Opened) -> Iterator[Header]:
    """Yield the headers of the blocks within bounds; their rows are not looked at."""
    for batch in reader.read_range(partition, bounds.start, bounds.end):
        for key, value in zip(batch.keys, batch.values, strict=True):
            place = Place.of(key)
            if place is not None and place.piece == 0 and value is not None:
                with suppress(OtherVersion, ValidationError, ValueError):
                    yield read(opened(partition, place.key, value))[0]


def _next(place: Place) -> Place:
    return Place(place.generation, place.number, place.piece + 1, place.pieces)


def _name(place: Place) -> str:
    return f"{place.number} of generation {place.generation}"
