"""A time zone as data."""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.plain_data import PlainData

DAY = 86_400


@dataclass(frozen=True)
class Zone(PlainData):
    """Tell what clocks on the walls of a time zone show, and when.

    `transitions`: from which second on (UTC, since 1970) clocks are how many seconds ahead of UTC.
    The first holds since ever, whatever its second is, and the last for ever. Where clocks are put
    back, a local time happens twice; where they are put forward, it never does. A span of time that
    begins or ends at such a time is made longer, never shorter: it begins at the `earliest` instant
    that can be meant, and ends at the `latest`. Raises `ValueError` naming the field.

    >>> zone = Zone("two shifts", ((0, 0), (36_000, 3600), (72_000, 0)))
    >>> [zone.earliest(second) for second in (18_000, 37_800, 73_800)]  # once, never, twice shown
    [18000, 34200, 70200]
    >>> [zone.latest(second) for second in (18_000, 37_800, 73_800)]
    [18000, 37800, 73800]

    Source: Swellfish specification, section 2 (expansion).
    """

    name: str
    transitions: tuple[tuple[int, int], ...]
    least: int = field(init=False, repr=False, compare=False)
    """The smallest offset of all."""
    most: int = field(init=False, repr=False, compare=False)
    """The largest one."""
    _left: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _entered: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: must not be empty")
        if not self.transitions:
            raise ValueError("transitions: must have at least one offset from UTC")
        if not all(one < next_one for (one, _), (next_one, _) in pairwise(self.transitions)):
            raise ValueError("transitions: must be in order of time, each second once")
        steps = [abs(after - before) for (_, before), (_, after) in pairwise(self.transitions)]
        if max(steps, default=0) > DAY:
            raise ValueError("transitions: must not change clocks by more than a day at once")
        object.__setattr__(self, "least", min(offset for _, offset in self.transitions))
        object.__setattr__(self, "most", max(offset for _, offset in self.transitions))
        left = [second + before for (_, before), (second, _) in pairwise(self.transitions)]
        entered = [second + offset for second, offset in self.transitions[1:]]
        object.__setattr__(self, "_left", tuple(accumulate(left, max)))
        object.__setattr__(self, "_entered", tuple(accumulate(reversed(entered), min))[::-1])

    def to_data(self) -> dict[str, Any]:
        """Write it as plain JSON data, once: a zone has many transitions, and many policies."""
        return self._data

    @cached_property
    def _data(self) -> dict[str, Any]:
        return super().to_data()

    def earliest(self, local: int) -> int:
        """Return the UTC second of a local one, by the first offset left after showing it."""
        return local - self.transitions[bisect_right(self._left, local)][1]

    def latest(self, local: int) -> int:
        """Return the UTC second of a local one, by the last offset entered before showing it."""
        return local - self.transitions[bisect_right(self._entered, local)][1]

    def earliest_of(self, locals_: Integers) -> Integers:
        """Return `earliest` of all of these."""
        return locals_ - self._offsets[np.searchsorted(self._left, locals_, "right")]

    def latest_of(self, locals_: Integers) -> Integers:
        """Return `latest` of all of these."""
        return locals_ - self._offsets[np.searchsorted(self._entered, locals_, "right")]

    @cached_property
    def _offsets(self) -> Integers:
        return np.array([offset for _, offset in self.transitions], dtype=np.int64)

    def differs_from(self, other: "Zone") -> int | None:
        """Return the first second (UTC) at which clocks of the two show different times, if any.

        >>> winter = Zone("winter", ((0, 3600),))
        >>> winter.differs_from(Zone("summer too", ((0, 3600), (5_000, 7200))))
        5000
        """
        seconds = sorted({second for zone in (self, other) for second, _ in zone.transitions})
        before = seconds[0] - 1
        return next(
            (one for one in (before, *seconds) if self._ahead(one) != other._ahead(one)), None
        )

    def _ahead(self, second: int) -> int:
        """Return by how many seconds clocks are ahead of UTC at a second."""
        place = bisect_right(self.transitions, second, key=itemgetter(0)) - 1
        return self.transitions[max(0, place)][1]
