"""The loop of stage 1 over groups, rows and sub-trajectories."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fugu.operators.anonymity.compiled_subsets import first_subset, next_subset
from fugu.operators.anonymity.knowledge import Knowledge, Numbers
from fugu.operators.compiled.either import entry_point, part
from fugu.operators.mechanism import Integers


class Stage(NamedTuple):
    """Hold what stage 1 reads, what it counts, and which points are kept.

    `counts` has the rows that contain each piece, without those of the group at hand; `scores` has
    the rows of that group that contain each point. `groups` says where each group begins among
    `rows`. `chosen` is room for a subset.
    """

    offsets: Integers
    begins: Integers
    pieces: Numbers
    rows: Integers
    groups: Integers
    counts: Numbers
    scores: Numbers
    kept: NDArray[np.uint8]
    chosen: Integers

    @classmethod
    def of(cls, offsets: Integers, known: Knowledge, rows: Integers, groups: Integers) -> "Stage":
        """Return the state before the first group."""
        return cls(
            offsets=offsets,
            begins=known.begins,
            pieces=known.pieces,
            rows=rows,
            groups=groups,
            counts=np.bincount(known.pieces, minlength=known.count).astype(np.int32),
            scores=np.zeros(known.count, dtype=np.int32),
            kept=np.ones(int(offsets[-1]), dtype=np.uint8),
            chosen=np.zeros(len(known.begins), dtype=np.int64),
        )


@entry_point
def suppress(stage: Stage, needed: int) -> None:
    """Remove the points of every row until each piece is in `needed` rows of other groups."""
    for group in range(len(stage.groups) - 1):
        begin, end = stage.groups[group], stage.groups[group + 1]
        for place in range(begin, end):
            _count_row(stage, stage.rows[place], -1)
        for place in range(begin, end):
            _suppress_row(stage, stage.rows[place], needed)
        for place in range(begin, end):
            _count_row(stage, stage.rows[place], 1)


@part
def _count_row(stage: Stage, row: int, change: int) -> None:
    """Count what is left of a row out or in, and its points into the scores or out of them."""
    first, end = stage.offsets[row], stage.offsets[row + 1]
    for place in range(end - first):
        stage.scores[stage.pieces[stage.begins[0, row] + place]] -= change
    for size in range(1, len(stage.begins) + 1):
        if size > end - first:
            return
        occurrence = stage.begins[size - 1, row]
        first_subset(stage.chosen, size)
        more = True
        while more:
            if _is_left(stage, first, size):
                stage.counts[stage.pieces[occurrence]] += change
            occurrence += 1
            more = next_subset(stage.chosen, size, end - first)


@part
def _suppress_row(stage: Stage, row: int, needed: int) -> None:
    first, end = stage.offsets[row], stage.offsets[row + 1]
    for size in range(1, len(stage.begins) + 1):
        if size > end - first:
            return
        occurrence = stage.begins[size - 1, row]
        first_subset(stage.chosen, size)
        more = True
        while more:
            rare = stage.counts[stage.pieces[occurrence]] < needed
            if rare and _is_left(stage, first, size):
                stage.kept[first + _most_frequent(stage, row, size)] = 0
            occurrence += 1
            more = next_subset(stage.chosen, size, end - first)


@part
def _is_left(stage: Stage, first: int, size: int) -> bool:
    place = 0
    while place < size and stage.kept[first + stage.chosen[place]] != 0:
        place += 1
    return place == size


@part
def _most_frequent(stage: Stage, row: int, size: int) -> int:
    """Return the place of the chosen point with the largest score, the earliest on ties."""
    best, most = 0, -1
    for place in range(size):
        score = stage.scores[stage.pieces[stage.begins[0, row] + stage.chosen[place]]]
        if score > most:
            best, most = stage.chosen[place], score
    return best
