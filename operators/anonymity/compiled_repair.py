"""The loop of stage 2: the first piece that breaks a bound loses a point, until none does."""

from fugu.operators.anonymity.compiled_board import (
    CONFIDENCE,
    NOTHING,
    SUPPORT,
    Board,
    Log,
    broken_bound,
    first_of,
    head_of,
    look_at,
    places_of,
    remove_point,
    row_of,
    size_of,
    tail_of,
)
from fugu.operators.anonymity.compiled_least import add, take_least
from fugu.operators.compiled.either import entry_point, part


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
