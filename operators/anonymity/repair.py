"""Stage 2: remove points until no knowledge of few points singles anybody out."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Booleans, Table
from fugu.operators.mechanism import Integers

Reason = Literal["support", "confidence", "correlated"]

_REASONS: dict[int, Reason] = {1: "support", 2: "confidence", 3: "correlated"}


@dataclass(frozen=True)
class Removal:
    """Hold one step: the knowledge that broke a bound, the point that was removed, from which rows.

    Points are numbered as in the table.
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


def repaired(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Return what is left at the fixed point; `categories` has one number per row.

    In every step the first sub-trajectory (by size, then by the first row that contains it, then by
    places in that row) that breaks a bound loses its rarest point, the earliest on ties: from all
    rows that match if fewer than `people` people do; from the last row of the largest category if
    that has too large a share; where rows are linked, from the last row of a person all of whose
    rows match, if fewer than `people` people have so many rows that match. Every step removes a
    point, so this ends. Rows that have lost all points no longer count as records of a person.

    Cost: each occurrence of a sub-trajectory is counted once and removed once at most, so that time
    and memory are in proportion to `occurrences`, and to the number of categories.

    >>> from fractions import Fraction
    >>> from fugu.operators.anonymity.records import Record
    >>> table = Table.of([Record(0, (1, 2), 0), Record(1, (1, 2), 1), Record(2, (1, 3), 0)])
    >>> limits = Limits(people=2, known_points=1, confidence=Fraction(2, 3))
    >>> done = repaired(table, np.ones(6, dtype=np.bool_), table.values, limits)
    >>> done.kept.tolist()
    [True, True, True, True, True, False]
    >>> done.removals
    (Removal(reason='support', known=(3,), point=3, rows=(2,)),)

    Source: anonymisation specification, section 4.
    """
    from fugu.operators.anonymity.board import board_of, log_for
    from fugu.operators.anonymity.compiled_repair import repair

    left = table.with_points(kept)
    board, log = board_of(left, categories, limits), log_for(left, limits)
    repair(board, log)
    steps, removed = log.ends.tolist()
    still = kept.copy()
    still[np.flatnonzero(kept)] = board.kept
    rows = left.rows_of_points[log.removed[:removed]].tolist()
    begins = np.searchsorted(log.steps[:removed], np.arange(steps + 1)).tolist()
    known = log.known.reshape(-1, limits.known_points)[:steps].tolist()
    points = left.points.tolist()
    removals = tuple(
        Removal(
            _REASONS[reason],
            tuple(points[place] for place in places if place >= 0),
            points[place_removed],
            tuple(sorted(rows[begin:end])),
        )
        for reason, places, place_removed, begin, end in zip(
            log.reasons[:steps].tolist(),
            known,
            log.points[:steps].tolist(),
            begins[:-1],
            begins[1:],
            strict=True,
        )
    )
    return Repaired(still, removals)
