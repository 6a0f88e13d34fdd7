"""Random tables of few rows, places and people, on which a mistake shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import Record, Table
from fugu.operators.anonymity.suppression import Taxonomy

TREE = {
    "all": {
        "a": {"a1": ["a11", "a12"], "a2": None},
        "b": ["b1", "b2"],
        "c": None,
        "d": {"d1": ["d11"]},
    }
}
TAXONOMY = Taxonomy.from_tree(TREE)
SHARES = (Fraction(1, 2), Fraction(2, 5), Fraction(2, 3), Fraction(4, 5))


@dataclass(frozen=True)
class Case:
    """Hold a table, and how it is to be anonymised."""

    anonymization: Anonymization
    table: Table


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield random cases: users with several records, K from 2 to 5, rho from 1 to 3."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield _case(rng)


def _case(rng: np.random.Generator) -> Case:
    rows = int(rng.integers(1, 25))
    people = int(rng.integers(1, rows + 1)) if rng.random() < 0.6 else rows
    points = int(rng.integers(3, 13))
    longest = int(rng.integers(1, min(points, 7) + 1))
    users = rng.permutation(rows) if people == rows else rng.integers(people, size=rows)
    records = [
        Record(
            int(user),
            tuple(sorted(rng.permutation(points)[: int(rng.integers(longest + 1))].tolist())),
            int(rng.integers(1, len(TAXONOMY.names))),
        )
        for user in users
    ]
    anonymization = Anonymization(
        TAXONOMY,
        privacy_height=int(rng.integers(2, 5)),
        people=int(rng.integers(2, 6)) if rng.random() < 0.5 else 2,
        known_points=int(rng.integers(1, 4)),
        confidence=SHARES[int(rng.integers(len(SHARES)))],
        linked=bool(rng.random() < 0.5),
    )
    return Case(anonymization, Table.of(records))
