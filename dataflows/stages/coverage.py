"""Hold complete ticks back until the topic of policies is known to cover them.

A tick is complete with the entry of the internal log that brings the last of its partial sums. It
may be released once a mark (`PoliciesCovered`) behind that entry says that the topic of policies
was read to an end asked for after the entry was there. So whatever stood in that topic before the
last partial sum was written, stands in the log before the mark, and is told to the mechanism before
the tick is released. All of this is a function of the log: a replay holds back the same ticks until
the same marks, whatever the topic of policies holds by then.
"""

from dataclasses import dataclass, field
from typing import Any

_MOST = 1_000
"""Entries that are remembered; ticks of others wait for the next entry that is."""


@dataclass
class Coverage:
    """Hold up to which tick all are covered, and with which entries further ones were complete.

    `waiting` holds offsets of the log, and the last tick that was complete with each; both rise.
    """

    covered: int | None = None
    waiting: list[tuple[int, int]] = field(default_factory=list)

    def complete(self, tick: int, offset: int) -> None:
        """Take in that all ticks up to this one are complete with the entry at `offset`.

        Of too many entries every second one is forgotten; its ticks then wait for a later mark.
        """
        known = self.waiting[-1][1] if self.waiting else self.covered
        if known is None or tick > known:
            self.waiting.append((offset, tick))
        if len(self.waiting) > _MOST:
            del self.waiting[:-1:2]

    def cover(self, offset: int) -> None:
        """Take in a mark: ticks that were complete up to `offset` may be released."""
        while self.waiting and self.waiting[0][0] <= offset:
            _, self.covered = self.waiting.pop(0)

    def allows(self, tick: int) -> bool:
        """Return whether a tick may be released."""
        return self.covered is not None and tick <= self.covered

    def plain(self) -> list[Any]:
        """Return it as a header holds it."""
        return [self.covered, self.waiting]

    @classmethod
    def of(cls, plain: list[Any]) -> "Coverage":
        """Return what `plain` gave."""
        covered, waiting = plain
        return cls(covered, [(offset, tick) for offset, tick in waiting])
