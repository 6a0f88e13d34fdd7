"""Compile the loops that remove points: stage 1 suppresses them, stage 2 repairs what is left."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fugu.operators.anonymity.compiled_board import (
    CONFIDENCE,
    NOTHING,
    SUPPORT,
    Board,
    Log,
    add,
    broken_bound,
    first_of,
    first_subset,
    head_of,
    look_at,
    next_subset,
    places_of,
    remove_point,
    row_of,
    size_of,
    tail_of,
    take_least,
)
from fugu.operators.anonymity.knowledge import Knowledge, Numbers
from fugu.operators.compiled.either import entry_point, part
from fugu.operators.mechanism import Integers


@entry_point
def repair(board: Board, log: Log) -> None:
    """Remove points in the order of the specification, and write each step down."""
    for piece in range(len(board.totals)):
        look_at(board, piece)
    occurrence = take_least(board.marks, board.levels)
    while occurrence >= 0:
        piece = board.pieces[occurrence]
        reason = broken_bound(board, piece)
        if reason != NOTHING:
            first = first_of(board, piece)
            if first == occurrence:
                _step(board, log, occurrence, reason)
            else:
                add(board.marks, board.levels, first)
        occurrence = take_least(board.marks, board.levels)


@part
def _step(board: Board, log: Log, occurrence: int, reason: int) -> None:
    size, piece = size_of(board, occurrence), board.pieces[occurrence]
    row = row_of(board, occurrence, size)
    places_of(board, occurrence, row, size)
    step = log.ends[0]
    rarest, fewest = -1, 0
    for number in range(size):
        place = board.chosen[number]
        point = board.pieces[board.begins[0, row] + place]
        log.known[step * len(board.begins) + number] = board.offsets[row] + place
        if rarest < 0 or board.totals[point] < fewest:
            rarest, fewest = place, board.totals[point]
    point = board.pieces[board.begins[0, row] + rarest]
    log.reasons[step] = reason
    log.points[step] = board.offsets[row] + rarest
    if reason == SUPPORT:
        _remove_everywhere(board, log, piece, size, point)
    elif reason == CONFIDENCE:
        _remove_from(board, log, tail_of(board, _largest_cell(board, piece)), size, point)
    else:
        _remove_from(board, log, _last_of_correlated(board, piece), size, point)
    log.ends[0] += 1


@part
def _remove_everywhere(board: Board, log: Log, piece: int, size: int, point: int) -> None:
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        for at in range(board.heads[cell], board.tails[cell] + 1):
            if board.gone[board.listing[at]] == 0:
                _remove_from(board, log, board.listing[at], size, point)


@part
def _remove_from(board: Board, log: Log, occurrence: int, size: int, point: int) -> None:
    """Remove a point from the row of an occurrence."""
    row, place = row_of(board, occurrence, size), 0
    while board.pieces[board.begins[0, row] + place] != point:
        place += 1
    remove_point(board, log, row, place)


@part
def _largest_cell(board: Board, piece: int) -> int:
    """Return the cell with the most rows, the one that is seen first on ties."""
    largest, most, first = -1, 0, 0
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        count = board.cell_counts[cell]
        if count > 0 and count >= most:
            head = head_of(board, cell)
            if count > most or head < first:
                largest, most, first = cell, count, head
    return largest


@part
def _last_of_correlated(board: Board, piece: int) -> int:
    """Return the last occurrence of the first person whose rows are all found together."""
    first, whose, last = len(board.pieces), -1, -1
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        for at in range(board.heads[cell], board.tails[cell] + 1):
            occurrence = board.listing[at]
            member = board.members[occurrence]
            if board.gone[occurrence] == 0 and member >= 0 and occurrence < first:
                size = board.whole_at[member]
                at_size = board.sizes_begin[piece] + size - 2
                if size != 0 and board.sizes[at_size] < board.limits[0]:
                    first, whose = occurrence, member
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        for at in range(board.heads[cell], board.tails[cell] + 1):
            occurrence = board.listing[at]
            if board.gone[occurrence] == 0 and board.members[occurrence] == whose:
                last = max(last, occurrence)
    return last


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
