"""The table of the thesis, with names as people read them: section 7 of the specification."""

from collections.abc import Sequence

import numpy as np

from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import Booleans, Record, Table
from fugu.operators.anonymity.suppression import Taxonomy

TAXONOMY = Taxonomy.from_tree(
    {
        "Disease": {
            "Virus infection": ["Dengue", "H1N1"],
            "Bacterial infection": ["Cholera", "Typhoid"],
            "Lung infection": None,
            "High blood sugar": None,
        }
    }
)
PLACES = "abcdefghijklmnopqrstuvwxyz"
ROWS = (
    (1, "a1 d2 p3 m4 k6 m8", "Dengue"),
    (2, "d2 n5 k6 n7", "High blood sugar"),
    (1, "a1 p3 n7 m8", "Virus infection"),
    (3, "p3 m4 k6 m8", "High blood sugar"),
    (4, "a1 d2 n5 k6 m9", "Dengue"),
    (5, "n5 k6 m9", "Lung infection"),
    (6, "k6 n7 m8", "High blood sugar"),
    (7, "a1 d2 k6 n7 m9", "Cholera"),
    (8, "d2 n5 n7 m9", "Typhoid"),
)


def number(point: str) -> int:
    """Return the number of a point such as `a1`: points are numbered in the order of time."""
    return int(point[1:]) * len(PLACES) + PLACES.index(point[0])


def name(number: int) -> str:
    time, place = divmod(number, len(PLACES))
    return f"{PLACES[place]}{time}"


def table_of(rows: Sequence[tuple[int, str, str]]) -> Table:
    """Return the table of rows that are written as in the thesis."""
    return Table.of(
        Record(user, tuple(map(number, points.split())), TAXONOMY.index(value))
        for user, points, value in rows
    )


TABLE = table_of(ROWS)


def trajectories(table: Table, kept: Booleans) -> list[str]:
    """Return what is left of each row."""
    left = table.with_points(kept)
    return [" ".join(name(int(x)) for x in left.trajectory(row)) for row in range(len(left))]


def thesis_settings(people: int = 2, known_points: int = 2, **others: object) -> Anonymization:
    return Anonymization(TAXONOMY, 2, people, known_points, **others)  # type: ignore[arg-type]


def everything(table: Table) -> Booleans:
    return np.ones(len(table.points), dtype=np.bool_)
