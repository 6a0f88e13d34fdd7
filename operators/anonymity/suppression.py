"""Stage 1: suppress points that few rows of other groups share (`atdb`)."""

from itertools import combinations

import numpy as np

from fugu.operators.anonymity.records import Booleans, Table
from fugu.operators.mechanism import Integers


def suppressed(table: Table, virtual: Integers, *, people: int, known_points: int) -> Booleans:
    """Return which points of the table stage 1 keeps.

    Source: anonymisation specification, section 3.
    """
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
