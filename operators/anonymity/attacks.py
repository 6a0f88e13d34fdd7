"""Count what four linkage attacks find in a table, from nothing but the table."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fugu.operators.anonymity.knowledge import Booleans, Limits, Table
from fugu.operators.mechanism import Integers

_DENSE = 4
"""Count pairs in a table, instead of sorting them, if it has up to so many cells for each."""
_LARGEST_KEY = 2**62


@dataclass(frozen=True)
class Attack:
    """Count the sub-trajectories with a hit, and the people whom they single out."""

    knowledge: int = 0
    people: int = 0


@dataclass(frozen=True)
class Attacks:
    """Hold what the four attacks find, and how many sub-trajectories were tried.

    *Identity*: fewer people match than `people`; all of them are singled out. *Attribute*: one
    value has too large a share of the rows that match; those who have it are singled out.
    *Similarity*: one category has. *Correlated*: all rows of a person with several match, and
    nobody else's; where rows are linked, fewer than `people` people have so many rows that match.
    """

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

    `categories` has one number per row. This shares no code with the stages that anonymise, nor any
    count of theirs: it sorts all sub-trajectories of the table and counts them afresh.

    >>> from fractions import Fraction
    >>> from fugu.operators.anonymity.knowledge import Record
    >>> table = Table.of([Record(0, (1, 2), 0), Record(1, (1, 3), 1)])
    >>> found = attacked(table, table.values, Limits(2, 1, Fraction(1, 2)))
    >>> found.tried, found.identity, found.attribute.knowledge
    (3, Attack(knowledge=2, people=2), 2)

    Source: anonymisation specification, section 5.
    """
    _, users = np.unique(table.users, return_inverse=True)
    people = int(users.max(initial=-1)) + 1
    records = np.bincount(users[table.lengths > 0], minlength=people)
    hits = np.zeros(4, dtype=np.int64)
    found = np.zeros((4, people), dtype=np.bool_)
    tried = 0
    for size in range(1, limits.known_points + 1):
        rows, known = _matches(table, size)
        whose = users[rows]
        matching = np.bincount(known)
        tried += len(matching)
        few, correlated = _crowds(known, whose, matching, records, limits)
        for attack, (knowledge, persons) in enumerate(
            (
                (few, whose[few[known]]),
                _dominated(known, table.values[rows], matching, limits, whose),
                _dominated(known, categories[rows], matching, limits, whose),
                correlated,
            )
        ):
            hits[attack] += int(knowledge.sum())
            found[attack, persons] = True
    return Attacks(tried, *map(Attack, hits.tolist(), found.sum(axis=1).tolist()))


def _crowds(
    known: Integers, whose: Integers, matching: Integers, records: Integers, limits: Limits
) -> tuple[Booleans, tuple[Booleans, Integers]]:
    """Return which knowledge too few people match, and which finds all rows of one, and whose."""
    if records.max(initial=0) < 2:
        nobody = np.empty(0, dtype=np.int64)
        return matching < limits.people, (np.zeros(len(matching), dtype=np.bool_), nobody)
    members = _Shares.of(known, whose)
    crowds = np.bincount(members.known)
    whole = (members.counts > 1) & (members.counts == records[members.others])
    if limits.linked:
        alike = _Shares.of(members.known, members.counts)
        alone = whole & (alike.counts[alike.shares] < limits.people)
    else:
        alone = whole & (crowds[members.known] == 1)
    found = _any_of(members.known[alone], len(matching)), members.others[alone]
    return crowds < limits.people, found


@dataclass(frozen=True, eq=False)
class _Shares:
    """Hold how often each knowledge goes with each other number; `shares` has the pair of each
    match."""

    known: Integers
    others: Integers
    counts: Integers
    shares: Integers

    @classmethod
    def of(cls, known: Integers, others: Integers) -> "_Shares":
        width = int(others.max(initial=0)) + 1
        keys = known * width + others
        if int(known.max(initial=0)) * width < _DENSE * len(keys):
            dense = np.bincount(keys)
            pairs = np.flatnonzero(dense)
            counts, shares = dense[pairs], (np.cumsum(dense > 0) - 1)[keys]
        else:
            pairs, shares, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return cls(pairs // width, pairs % width, counts, shares)


def _dominated(
    known: Integers, values: Integers, matching: Integers, limits: Limits, users: Integers
) -> tuple[Booleans, Integers]:
    """Return which knowledge leaves one value too large a share, and the users who have it."""
    shares = _Shares.of(known, values)
    share = limits.confidence
    over = shares.counts * share.denominator > matching[shares.known] * share.numerator
    return _any_of(shares.known[over], len(matching)), users[over[shares.shares]]


def _any_of(known: Integers, number: int) -> Booleans:
    return np.bincount(known, minlength=number) > 0


def _matches(table: Table, size: int) -> tuple[Integers, Integers]:
    """Return the row and the number of every sub-trajectory of this size in the table."""
    lengths = table.lengths
    distinct, points = np.unique(table.points, return_inverse=True)
    rows, known = [np.empty(0, dtype=np.int64)], [np.empty((size, 0), dtype=np.int64)]
    for length in np.unique(lengths[lengths >= size]).tolist():
        alike = np.flatnonzero(lengths == length)
        chosen = np.array(list(combinations(range(length), size)), dtype=np.int64)
        places = table.offsets[alike][:, None, None] + chosen[None, :, :]
        known.append(points[places].reshape(-1, size).T)
        rows.append(np.repeat(alike, len(chosen)))
    columns = np.concatenate(known, axis=1)
    numbers, largest = columns[0], len(distinct)
    for column in columns[1:]:
        if largest * len(distinct) > _LARGEST_KEY:
            numbers = np.unique(numbers, return_inverse=True)[1]
            largest = int(numbers.max(initial=0)) + 1
        numbers = numbers * len(distinct) + column
        largest *= len(distinct)
    return np.concatenate(rows), np.unique(numbers, return_inverse=True)[1]
