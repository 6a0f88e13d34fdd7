"""Stage 2: remove points until no knowledge of few points singles anybody out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from fugu.operators.anonymity.records import Booleans, Table
from fugu.operators.mechanism import Integers

Reason = Literal["support", "confidence", "correlated"]


@dataclass(frozen=True)
class Removal:
    """Hold one step: the knowledge that was violating, the point that was removed, from which rows.

    Points are numbers of the table.
    """

    reason: Reason
    known: tuple[int, ...]
    point: int
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Repaired:
    """Hold which points of the table are left, and the steps in their order."""

    kept: Booleans
    removals: tuple[Removal, ...]


@dataclass(frozen=True)
class Limits:
    """Hold what every knowledge of `known_points` points at most must leave open: `people` behind
    it, and no category with a share above `confidence`; `linked`: rows of a user are recognised."""

    people: int
    known_points: int
    confidence: Fraction
    linked: bool = False


def repaired(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Return the table at the fixed point; `categories` has one number per row.

    Source: anonymisation specification, section 4.
    """
    positions = np.flatnonzero(kept)
    whose = table.rows_of_points
    rows: list[list[int]] = [[] for _ in range(len(table))]
    for position in positions:
        rows[whose[position]].append(int(table.points[position]))
    slow = _Slow(rows, table.users.tolist(), categories.tolist(), limits)
    removals = tuple(slow.steps())
    left = [
        bool(kept[at]) and int(point) in rows[whose[at]] for at, point in enumerate(table.points)
    ]
    return Repaired(np.array(left, dtype=np.bool_), removals)


@dataclass(frozen=True)
class _Slow:
    rows: list[list[int]]
    users: list[int]
    categories: list[int]
    limits: Limits

    def steps(self) -> Iterator[Removal]:
        while (step := self._first()) is not None:
            for row in step.rows:
                self.rows[row].remove(step.point)
            yield step

    def _first(self) -> Removal | None:
        for m in range(1, self.limits.known_points + 1):
            seen = set()
            matching: dict[tuple[int, ...], list[int]] = {}
            for row, points in enumerate(self.rows):
                for tau in combinations(points, m):
                    matching.setdefault(tau, []).append(row)
            for points in self.rows:
                for tau in combinations(points, m):
                    if tau in seen:
                        continue
                    seen.add(tau)
                    if (step := self._violation(tau, matching[tau])) is not None:
                        return step
        return None

    def _violation(self, tau: tuple[int, ...], rows: list[int]) -> Removal | None:
        x = min(tau, key=lambda point: sum(point in row for row in self.rows))
        if len({self.users[row] for row in rows}) < self.limits.people:
            return Removal("support", tau, x, tuple(rows))
        shares = Counter(self.categories[row] for row in rows)
        category, most = max(shares.items(), key=lambda item: item[1])
        if Fraction(most, len(rows)) > self.limits.confidence:
            inside = [row for row in rows if self.categories[row] == category]
            return Removal("confidence", tau, x, (inside[-1],))
        if self.limits.linked:
            records = Counter(user for user, row in zip(self.users, self.rows, strict=True) if row)
            here = Counter(self.users[row] for row in rows)
            sizes = Counter(here.values())
            for user, count in here.items():
                if 2 <= count == records[user] and sizes[count] < self.limits.people:
                    own = [row for row in rows if self.users[row] == user]
                    return Removal("correlated", tau, x, (own[-1],))
        return None
