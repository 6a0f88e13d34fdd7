"""Stages 1 and 2 and the attacks as the specification writes them: slow, and easy to read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from fugu.operators.anonymity.attacks import Attack, Attacks
from fugu.operators.anonymity.knowledge import Booleans, Limits, Table
from fugu.operators.anonymity.suppression import Removal, Repaired
from fugu.operators.mechanism import Integers


def suppressed(table: Table, virtual: Integers, *, people: int, known_points: int) -> Booleans:
    """Follow section 3 line by line."""
    rows = [[int(x) for x in table.trajectory(row)] for row in range(len(table))]
    groups = dict.fromkeys(virtual.tolist())
    for value in groups:
        inside = [row for row in range(len(table)) if virtual[row] == value]
        others = [set(rows[row]) for row in range(len(table)) if virtual[row] != value]
        score: dict[int, int] = {}
        for row in inside:
            for x in rows[row]:
                score[x] = score.get(x, 0) + 1
        for row in inside:
            for m in range(1, known_points + 1):
                for tau in list(combinations(rows[row], m)):
                    if not set(tau) <= set(rows[row]):
                        continue
                    if sum(set(tau) <= other for other in others) < people - 1:
                        rows[row].remove(max(tau, key=lambda x: score[x]))
    kept = [int(x) in set(rows[row]) for row in range(len(table)) for x in table.trajectory(row)]
    return np.array(kept, dtype=np.bool_)


def repaired(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Follow section 4: after each step all knowledge is enumerated again."""
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


def attacked(table: Table, categories: Integers, limits: Limits) -> Attacks:
    """Try the four attacks of section 5, one sub-trajectory after the other."""
    users, values = table.users.tolist(), table.values.tolist()
    rows = [table.trajectory(row).tolist() for row in range(len(table))]
    matching: dict[tuple[int, ...], list[int]] = {}
    for row, points in enumerate(rows):
        for m in range(1, limits.known_points + 1):
            for tau in combinations(points, m):
                matching.setdefault(tau, []).append(row)
    records = Counter(user for user, points in zip(users, rows, strict=True) if points)
    found: list[list[set[int]]] = [[], [], [], []]
    for matched in matching.values():
        here = Counter(users[row] for row in matched)
        sizes = Counter(here.values())
        hit: list[set[int]] = [set(), set(), set(), set()]
        if len(here) < limits.people:
            hit[0] = set(here)
        for number, column in ((1, values), (2, categories.tolist())):
            for value, count in Counter(column[row] for row in matched).items():
                if count > limits.confidence * len(matched):
                    hit[number] |= {users[row] for row in matched if column[row] == value}
        for user, count in here.items():
            few = sizes[count] < limits.people if limits.linked else len(here) == 1
            if 2 <= count == records[user] and few:
                hit[3].add(user)
        for number in range(4):
            if hit[number]:
                found[number].append(hit[number])
    counted = [Attack(len(hits), len(set().union(*hits))) for hits in found]
    return Attacks(len(matching), *counted)
