"""Read the chain of one partition back, and miss every record that is not there any more.

Records come in the order of the log. The newest generation counts whose first block is whole; an
older one is never used in its place, because budgets would go back.

What the pipeline has not sealed for its offset was written by somebody else, and is passed over:
blocks, and records that take one back. Where it has the key of a record that counts, Kafka removes
that record some day, so the owner has to write all of it again before.
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

Opened = Callable[[int, int, bytes, bytes], bytes]
"""Opens a value, by partition, offset and key; `ValueError` where it is not sealed."""


class ChainReader(Generic[Table]):
    """Take records of one partition of the state in, and hold what they make."""

    def __init__(
        self, topic: str, partition: int, fresh: Callable[[], Table], opened: Opened
    ) -> None:
        self.topic, self._fresh, self._opened = topic, fresh, opened
        self.chain, self.table = Chain(partition), fresh()
        self.header: Header | None = None
        """The header of the last block."""
        self.fingerprint: bytes | None = None
        self.others = 0
        """The number of records that the pipeline has not written."""
        self._harmed_fingerprint = self._harmed_blocks = False
        self._pieces: list[bytes] = []
        self._last: list[bytes] = []
        """The pieces of the last block."""
        self._open: Place | None = None
        self._torn: Place | None = None
        """The last piece of a next block whose beginning is not there."""
        self._problem = ""
        self._other: OtherVersion | None = None

    def take(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Take the next record in, which lies at an offset."""
        place = Place.of(key)
        if key is None or (place is None and key != FINGERPRINT):
            self.others += 1
        elif value is None:
            # The owner takes back no block but those of generations that have ended.
            if place is None or place.generation == self.chain.generation:
                self._pass_over(place)
        else:
            try:
                content = self._opened(self.chain.partition, offset, key, value)
            except ValueError:
                self._pass_over(place)
                return
            if place is None:
                self.fingerprint, self._harmed_fingerprint = content, False
            else:
                self._take_piece(place, content)

    @property
    def is_harmed(self) -> bool:
        """Return whether others have used keys of records that count, which Kafka will remove."""
        return self._harmed_fingerprint or self._harmed_blocks

    def _pass_over(self, place: Place | None) -> None:
        """Count a record of somebody else, and note whether it has the key of one that counts."""
        self.others += 1
        if place is None:
            self._harmed_fingerprint = True
        elif place.generation == self.chain.generation and place.number <= self.chain.number:
            self._harmed_blocks = True

    @property
    def is_sound(self) -> bool:
        """Return whether nothing was wrong so far; a block may be read in part."""
        return not self._problem

    def require_whole(self) -> None:
        """Raise `StartRefused` where a record of the chain is missing, or is another one."""
        unfinished = self._open or self._torn
        if unfinished is not None and not self._problem:
            self._problem = f"block {_name(unfinished)} is not whole"
        if self._other is not None:
            raise self._other
        if self._problem:
            raise StartRefused(
                f"topic {self.topic}, partition {self.chain.partition}: the state topic lost "
                f"records, or somebody else wrote to it ({self._problem}). Restore the topic. An "
                "earlier state is never used in its place, because budgets would go back."
            )

    def _take_piece(self, place: Place, value: bytes) -> None:
        if (place.generation, place.number) == (self.chain.generation, self.chain.number):
            # It is written once more where something else came between its records.
            if self._last[place.piece : place.piece + 1] != [value]:
                self._problem = self._problem or f"block {_name(place)} is there with other content"
            return
        if place.piece == 0 and self._follows(place) and self._may_begin(place):
            self._pieces, self._open, self._torn = [value], place, None
        elif self._open is not None and place == _next(self._open):
            self._pieces.append(value)
            self._open = place
        elif self._open is None and self._follows(place):
            self._torn = place  # written once more further on, and Kafka has removed its beginning
            return
        else:
            self._problem = self._problem or f"block {_name(place)} is out of its order"
            return
        if place.piece == place.pieces - 1:
            self._take_block(place, b"".join(self._pieces))
            self._last, self._pieces, self._open = self._pieces, [], None

    def _may_begin(self, place: Place) -> bool:
        """Return whether no other block is unfinished; one may begin once more."""
        begun = self._open or self._torn
        return begun is None or place.number == 0 or begun.number == place.number

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
        self._harmed_blocks = False

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
        for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
            place = Place.of(key)
            if place is not None and place.piece == 0 and value is not None:
                with suppress(OtherVersion, ValidationError, ValueError):
                    yield read(opened(partition, int(offset), place.key, value))[0]


def _next(place: Place) -> Place:
    return Place(place.generation, place.number, place.piece + 1, place.pieces)


def _name(place: Place) -> str:
    return f"{place.number} of generation {place.generation}"
