"""A time zone as data: what clocks on its walls show, and when.

Where clocks are put back, a local time happens twice; where they are put forward, it never does. A
span of time that begins or ends at such a time is made longer, never shorter: it begins at the
`earliest` instant that can be meant, and ends at the `latest`.

>>> hour = 3600
>>> zone = Zone("two shifts", ((0, 0), (10 * hour, hour), (20 * hour, 0)))
>>> zone.earliest(5 * hour) / hour, zone.latest(5 * hour) / hour
(5.0, 5.0)
>>> zone.earliest(int(10.5 * hour)) / hour, zone.latest(int(10.5 * hour)) / hour  # never shown
(9.5, 10.5)
>>> zone.earliest(int(20.5 * hour)) / hour, zone.latest(int(20.5 * hour)) / hour  # shown twice
(19.5, 20.5)

Source: Swellfish specification, section 2 (expansion).
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from fugu.operators.swellfish.plain_data import integer, items, members, text

DAY = 86_400


@dataclass(frozen=True)
class Zone:
    """`transitions`: from which second on (UTC, since 1970) clocks are how many seconds ahead of
    UTC. The first holds since ever, whatever its second is, and the last for ever."""

    name: str
    transitions: tuple[tuple[int, int], ...]
    least: int = field(init=False, repr=False, compare=False)
    """The smallest offset of all."""
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
        left = [second + before for (_, before), (second, _) in pairwise(self.transitions)]
        entered = [second + offset for second, offset in self.transitions[1:]]
        object.__setattr__(self, "_left", tuple(accumulate(left, max)))
        object.__setattr__(self, "_entered", tuple(accumulate(reversed(entered), min))[::-1])

    def earliest(self, local: int) -> int:
        """UTC second of a local second, by the first offset that clocks leave after showing it."""
        return local - self.transitions[bisect_right(self._left, local)][1]

    def latest(self, local: int) -> int:
        """UTC second of a local second, by the last offset that clocks enter before showing it."""
        return local - self.transitions[bisect_right(self._entered, local)][1]

    def to_data(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"name": self.name, "transitions": [list(pair) for pair in self.transitions]}

    @staticmethod
    def from_data(data: object) -> "Zone":
        """What `to_data` gave, or a zone, which many policies may share; raises `ValueError` naming
        the field."""
        if isinstance(data, Zone):
            return data
        given = members(data, "name", "transitions")
        pairs = [items("transitions", pair) for pair in items("transitions", given["transitions"])]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("transitions: must be pairs of a second and an offset")
        transitions = tuple(
            (integer("transitions", second), integer("transitions", offset))
            for second, offset in pairs
        )
        return Zone(text("name", given["name"]), transitions)
