"""Count what four linkage attacks find in a table, from nothing but the table."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Table
from fugu.operators.mechanism import Integers


@dataclass(frozen=True)
class Attack:
    """Count the sub-trajectories with a hit, and the people whom they single out."""

    knowledge: int = 0
    people: int = 0


@dataclass(frozen=True)
class Attacks:
    """Hold what the four attacks find, and how many sub-trajectories were tried."""

    tried: int
    identity: Attack
    attribute: Attack
    similarity: Attack
    correlated: Attack

    @property
    def hits(self) -> int:
        """Return the hits of all four."""
        four = (self.identity, self.attribute, self.similarity, self.correlated)
        return sum(attack.knowledge for attack in four)


def attacked(table: Table, categories: Integers, limits: Limits) -> Attacks:
    """Return what an attacker finds who knows any points of a person, so many at most.

    `categories` has one number per row.

    Source: anonymisation specification, section 5.
    """
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
