"""Delta_t: how far the statistic of one tick can move between neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fugu.operators.mechanism import Integers

QueryKind = Literal["sum", "count", "histogram", "multi_histogram"]
_FIXED = {"count": 1, "histogram": 2}


@dataclass(frozen=True)
class Query:
    """Bound how far the statistic of a tick can move, given what each relevant policy allows.

    - `sum` (L1): changes of overlapping occurrences add up, to `largest_change` at most.
    - `count` of people who satisfy a predicate: 1 if anything can change at all.
    - `histogram`, each person in exactly one bin: 2, since a place is left and another one entered.
    - `multi_histogram`, each person in any number of bins, one per activity: thresholds count bins;
      no more change than there are activities that the relevant policies are about.

    Parameters: `largest_change`, by how many units (L1) a person can change the statistic at most,
    whatever policies say; `activities`, the bins of a `multi_histogram`, and only of it. Raises
    `ValueError` naming the field.

    >>> Query("sum", 2757).sensitivity([220, 100]), Query("sum", 300).sensitivity([220, 100])
    (320, 300)
    >>> Query("count", 1).sensitivity([3, 1]), Query("histogram", 2).sensitivity([0, 0])
    (1, 0)
    >>> rooms = Query("multi_histogram", 4, ("bath", "bed", "hall", "sauna"))
    >>> rooms.sensitivity([2, 2], [("bath", "sauna"), ("sauna",)]), rooms.sensitivity([9], [()])
    (2, 4)

    Source: Swellfish specification, section 3.
    """

    kind: QueryKind
    largest_change: int
    activities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(QueryKind):
            raise ValueError(f"kind: must be one of {', '.join(get_args(QueryKind))}")
        if (self.kind == "multi_histogram") != bool(self.activities):
            raise ValueError("activities: must be those of a multi_histogram, and of nothing else")
        if len(set(self.activities)) < len(self.activities):
            raise ValueError("activities: must be named once each")
        if self.largest_change < 1:
            raise ValueError("largest_change: must be at least 1 unit")
        if self.largest_change != _FIXED.get(self.kind, self.largest_change):
            raise ValueError(f"largest_change: must be {_FIXED[self.kind]} for a {self.kind}")
        if self.activities and self.largest_change > len(self.activities):
            raise ValueError("largest_change: must be at most the number of activities")

    def sensitivity(
        self, changes: Sequence[int], activities: Sequence[tuple[str, ...]] | None = None
    ) -> int:
        """Return Delta_t for one person, in units.

        `changes` are c_phi(t) of every occurrence that is relevant in the tick, and `activities`
        those that it is about; without names: any.
        """
        if self.kind in _FIXED:
            return _FIXED[self.kind] if any(changes) else 0
        most = self.largest_change
        if self.kind == "multi_histogram" and activities is not None:
            most = min(most, self._touched(changes, activities))
        return min(sum(changes), most)

    def at_most(self, changes: Integers) -> Integers:
        """Bound Delta_t from above, where changes of occurrences add up to these."""
        if self.kind in _FIXED:
            return np.where(changes > 0, _FIXED[self.kind], 0)
        return np.minimum(changes, self.largest_change)

    def _touched(self, changes: Sequence[int], activities: Sequence[tuple[str, ...]]) -> int:
        """Count the activities of occurrences that can change anything."""
        touched = {
            activity
            for change, about in zip(changes, activities, strict=True)
            if change > 0
            for activity in about or self.activities
        }
        return len(touched)
