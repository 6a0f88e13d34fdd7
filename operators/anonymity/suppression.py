"""Stage 1: suppress points that few rows of other groups share (`atdb`)."""

import numpy as np

from fugu.operators.anonymity.knowledge import Knowledge
from fugu.operators.anonymity.records import Booleans, Table
from fugu.operators.mechanism import Integers


def suppressed(table: Table, virtual: Integers, *, people: int, known_points: int) -> Booleans:
    """Return which points of the table stage 1 keeps.

    Groups of rows with one `virtual` value are taken in the order of their first rows. While a
    group is at hand, the rows of all others do not change. In each of its rows a sub-trajectory of
    `known_points` points at most that fewer than `people` - 1 rows of other groups contain loses
    the point that most rows of the group had, the earliest on ties.

    This is not safe on its own: rows are counted as if they were people, others lose points later,
    and confidence is not looked at. The repair makes up for all three.

    Source: anonymisation specification, section 3; Hemkumar (2021), algorithm 4.3, in the only
    reading that gives Table 4.3.
    """
    from fugu.operators.anonymity.compiled_suppression import Stage, suppress

    _, first, group = np.unique(virtual, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[group.ravel()]
    rows = np.argsort(rank, kind="stable")
    groups = np.concatenate([[0], np.cumsum(np.bincount(rank))]).astype(np.int64)
    stage = Stage.of(table.offsets, Knowledge.of(table, known_points), rows, groups)
    suppress(stage, people - 1)
    return stage.kept.astype(np.bool_)
