"""Keep what partitions told of ticks that are not released: what a merge waits with, however long.

Parts are kept as they came and written to a log of their own: each once, and not again with every
snapshot while a partition is silent.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Generic

from fugu.dataflows.stages.bounding import Partial, Told
from fugu.dataflows.state.row_block import Body, read, written


class OpenParts(Generic[Told]):
    """Keep parts by tick; those of ticks that were released are gone."""

    def __init__(self, read_part: Callable[[dict[str, Any], Body], Told]) -> None:
        self._read_part = read_part
        self._parts: dict[int, list[Told]] = defaultdict(list)
        self._added: list[Told] = []
        self._released: list[int] = []

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def ticks(self) -> list[int]:
        """Return the ticks that something is kept about."""
        return list(self._parts)

    def keep(self, part: Told) -> None:
        """Keep a part until its tick is released."""
        self._parts[part.tick].append(part)
        self._added.append(part)

    def of(self, tick: int) -> list[Told]:
        """Return all that there is about a tick."""
        return self._parts.get(tick, [])

    def take(self, tick: int) -> list[Told]:
        """Return all that there is about a tick, which is not kept any longer."""
        self._released.append(tick)
        return self._parts.pop(tick, [])

    def take_changes(self) -> bytes:
        """Return a block with what was added and is still there, and what is gone, since the last
        one."""
        added = [part for part in self._added if part.tick in self._parts]
        block = _block(added, self._released)
        self._added, self._released = [], []
        return block

    def take_everything(self) -> bytes:
        """Return a block that makes all of it when applied to nothing."""
        self._added, self._released = [], []
        return _block((one for tick in sorted(self._parts) for one in self._parts[tick]), [])

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged."""
        header, body = read(block)
        for tick in header["released"]:
            self._parts.pop(tick, None)
        for content in body.take_each(header["added"]):
            part = self._read_part(*read(content))
            self._parts[part.tick].append(part)


def _block(added: Iterable[Partial], released: list[int]) -> bytes:
    parts = [part.encoded() for part in added]
    return written({"added": [len(part) for part in parts], "released": released}, parts)
