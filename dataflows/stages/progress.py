"""Follow how far the partitions of an aggregate have told their ticks, and which one is the next.

Ticks are released in order once every partition has told them. A partition that has not begun when
another one has counts as empty until its first tick. None is left out but those that every
partition skipped: nothing can be in them, wherever.
"""

from dataclasses import dataclass, field
from typing import Any

_EVER = -(2**62)


@dataclass
class Progress:
    """Hold how far all partitions have told their ticks.

    `last`: up to which tick every partition that has begun has told all; `beyond`: ticks that it
    has told further on, and the first of those that each stands for; `skipped`: partition, first
    and last of ticks that were skipped; `following`: the tick to be released next.
    """

    last: dict[int, int] = field(default_factory=dict)
    beyond: dict[tuple[int, int], int] = field(default_factory=dict)
    skipped: list[tuple[int, int, int]] = field(default_factory=list)
    following: int | None = None

    def knows(self, partition: int, tick: int) -> bool:
        """Return whether a partition told a tick before."""
        return (partition, tick) in self.beyond or tick <= self.last.get(partition, tick - 1)

    def told(self, partition: int, tick: int, skipped: int) -> bool:
        """Take in that a partition told a tick, and skipped some before; return whether that is
        new."""
        last, first = self.last, tick - skipped
        if self.knows(partition, tick):
            return False
        if partition not in last:
            self.following = first if self.following is None else min(self.following, first)
            last[partition] = first - 1
            self.skipped.append((partition, _EVER, first - 1))
        if skipped:
            self.skipped.append((partition, first, tick - 1))
        self.beyond[partition, tick] = first
        starts = {start: end for (whose, end), start in self.beyond.items() if whose == partition}
        while (end := starts.get(last[partition] + 1)) is not None:
            last[partition] = end
            del self.beyond[partition, end]
        return True

    def join(self, partition: int, tick: int) -> None:
        """Take in a partition that was added, and that has nothing to tell up to this tick."""
        if partition not in self.last:
            self.last[partition] = tick
            self.skipped.append((partition, _EVER, tick))

    def complete(self, partitions: int) -> int | None:
        """Return the last tick up to which each of these partitions has told all."""
        return min(self.last.values()) if len(self.last) == partitions else None

    def next_of(self, partitions: int) -> int | None:
        """Return the tick that each of these partitions has told, and not every one has skipped."""
        complete = self.complete(partitions)
        if complete is None or self.following is None:
            return None
        while True:
            ends = [end for _, first, end in self.skipped if first <= self.following <= end]
            if len(ends) < partitions:
                break
            self.following = min(ends) + 1
        self.skipped = [one for one in self.skipped if one[2] >= self.following]
        return self.following if self.following <= complete else None

    def plain(self) -> dict[str, Any]:
        """Return it as a header holds it."""
        return {
            "last": sorted(self.last.items()),
            "beyond": sorted([*place, first] for place, first in self.beyond.items()),
            "skipped": sorted(self.skipped),
            "following": self.following,
        }

    @classmethod
    def of(cls, header: dict[str, Any]) -> "Progress":
        """Return what `plain` gave."""
        return cls(
            dict(header["last"]),
            {(partition, tick): first for partition, tick, first in header["beyond"]},
            [(partition, first, last) for partition, first, last in header["skipped"]],
            header["following"],
        )
