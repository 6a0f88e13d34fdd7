"""Compile the counts by which points are chosen: sets, subsets, and the board of the repair."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fugu.operators.anonymity.knowledge import Numbers
from fugu.operators.compiled.either import part
from fugu.operators.mechanism import Integers

Marks = NDArray[np.uint8]

_BITS = 6


def room_for(numbers: int) -> tuple[Marks, Integers]:
    """Return an empty set for numbers below this one, and where each level begins."""
    sizes = [max(numbers, 1)]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + (1 << _BITS) - 1) >> _BITS)
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.zeros(int(begins[-1]), dtype=np.uint8), begins[:-1]


@part
def add(marks: Marks, begins: Integers, number: int) -> None:
    """Put a number into the set."""
    if marks[number] != 0:
        return
    marks[number] = 1
    for level in range(1, len(begins)):
        number >>= _BITS
        place = begins[level] + number
        marks[place] += 1
        if marks[place] > 1:
            return


@part
def take_least(marks: Marks, begins: Integers) -> int:
    """Remove the least number and return it; -1 if there is none."""
    top = len(begins) - 1
    if marks[begins[top]] == 0:
        return -1
    number = 0
    for level in range(top - 1, -1, -1):
        number <<= _BITS
        while marks[begins[level] + number] == 0:
            number += 1
    least = number
    for level in range(len(begins)):
        place = begins[level] + number
        marks[place] -= 1
        if marks[place] != 0:
            break
        number >>= _BITS
    return least


@part
def first_subset(chosen: Integers, size: int) -> None:
    """Write the first subset: 0, 1, 2, ..."""
    for place in range(size):
        chosen[place] = place


@part
def next_subset(chosen: Integers, size: int, count: int) -> bool:
    """Write the next subset of `count` things. Return False after the last."""
    place = size - 1
    while place >= 0 and chosen[place] == count - size + place:
        place -= 1
    if place < 0:
        return False
    chosen[place] += 1
    for after in range(place + 1, size):
        chosen[after] = chosen[after - 1] + 1
    return True


@part
def subset_of_rank(choose: Integers, count: int, size: int, rank: int, subset: Integers) -> None:
    """Write the subset that so many of `count` things come before."""
    thing = 0
    for place in range(size):
        behind = choose[count - 1 - thing, size - place - 1]
        while rank >= behind:
            rank -= behind
            thing += 1
            behind = choose[count - 1 - thing, size - place - 1]
        subset[place] = thing
        thing += 1


NOTHING, SUPPORT, CONFIDENCE, CORRELATED = 0, 1, 2, 3


class Board(NamedTuple):
    """Hold the counts of every piece (sub-trajectory), as they are while points are removed.

    `offsets`, `kept`: the rows and which of their points are left; `lengths` counts those.
    `begins`, `pieces`, `choose`: as in `Knowledge`. `gone` says which occurrences are no more.

    `totals` and `crowds`: the rows, and the people, that match a piece. A cell is a piece and a
    category of rows that match: `cells` has that of each occurrence, `cells_of` where the cells of
    a piece begin, `cell_counts` the rows. `listing` has the occurrences of each cell in their
    order, from `lists`; `heads` and `tails` are the first and the last that may be left.

    A member is a piece and a person with several rows: `members` has that of each occurrence, -1
    of people with one row, and is empty if there are no others; `member_counts` has the rows.

    Where rows are linked: `users` of rows; `records` counts the rows with points of each user,
    `user_rows` lists all of them from `users_begin`. `sizes` counts, from `sizes_begin` of a piece,
    the people with 2, 3, ... rows that match; `wholes` those of them who have no other rows. Such a
    member has its size in `whole_at`, others 0.

    `marks` and `levels`: the first occurrences of pieces that break a bound. `limits`: people,
    numerator and denominator of the confidence, linked. `others` and `chosen` are room for places.
    """

    offsets: Integers
    kept: Marks
    lengths: Integers
    begins: Integers
    pieces: Numbers
    choose: Integers
    gone: Marks
    totals: Numbers
    crowds: Numbers
    cells: Numbers
    cells_of: Integers
    cell_counts: Numbers
    listing: Numbers
    lists: Integers
    heads: Integers
    tails: Integers
    members: Numbers
    member_counts: Numbers
    users: Integers
    records: Integers
    user_rows: Integers
    users_begin: Integers
    sizes: Numbers
    wholes: Numbers
    sizes_begin: Integers
    whole_at: Numbers
    marks: Marks
    levels: Integers
    limits: Integers
    others: Integers
    chosen: Integers


class Log(NamedTuple):
    """Hold the steps: their reasons, what was known (places in the table, -1 behind them), and the
    point; and the points that were removed, with the number of the step. `ends` counts both."""

    reasons: NDArray[np.uint8]
    known: Integers
    points: Integers
    removed: Integers
    steps: Integers
    ends: Integers


@part
def broken_bound(board: Board, piece: int) -> int:
    """Return the first bound that a piece breaks, or `NOTHING`."""
    total = board.totals[piece]
    if total == 0:
        return NOTHING
    if board.crowds[piece] < board.limits[0]:
        return SUPPORT
    most = 0
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        most = max(most, board.cell_counts[cell])
    if most * board.limits[2] > board.limits[1] * total:
        return CONFIDENCE
    if board.limits[3] != 0:
        for place in range(board.sizes_begin[piece], board.sizes_begin[piece + 1]):
            if board.wholes[place] > 0 and board.sizes[place] < board.limits[0]:
                return CORRELATED
    return NOTHING


@part
def head_of(board: Board, cell: int) -> int:
    """Return the first occurrence that is left of a cell with rows."""
    at = board.heads[cell]
    while board.gone[board.listing[at]] != 0:
        at += 1
    board.heads[cell] = at
    return int(board.listing[at])


@part
def tail_of(board: Board, cell: int) -> int:
    """Return the last occurrence that is left of a cell with rows."""
    at = board.tails[cell]
    while board.gone[board.listing[at]] != 0:
        at -= 1
    board.tails[cell] = at
    return int(board.listing[at])


@part
def first_of(board: Board, piece: int) -> int:
    """Return the first occurrence that is left of a piece with rows."""
    first = len(board.pieces)
    for cell in range(board.cells_of[piece], board.cells_of[piece + 1]):
        if board.cell_counts[cell] > 0:
            first = min(first, head_of(board, cell))
    return first


@part
def look_at(board: Board, piece: int) -> None:
    """Mark a piece if it breaks a bound."""
    if broken_bound(board, piece) != NOTHING:
        add(board.marks, board.levels, first_of(board, piece))


@part
def row_of(board: Board, occurrence: int, size: int) -> int:
    """Return the row of an occurrence of a piece of this size."""
    low, high = 0, len(board.lengths)
    while high - low > 1:
        middle = (low + high) // 2
        if board.begins[size - 1, middle] <= occurrence:
            low = middle
        else:
            high = middle
    return low


@part
def size_of(board: Board, occurrence: int) -> int:
    """Return the size of the piece of an occurrence."""
    size = 1
    while board.begins[size - 1, len(board.lengths)] <= occurrence:
        size += 1
    return size


@part
def places_of(board: Board, occurrence: int, row: int, size: int) -> None:
    """Write the places in the row of the points of a piece into `chosen`."""
    length = board.offsets[row + 1] - board.offsets[row]
    rank = occurrence - board.begins[size - 1, row]
    subset_of_rank(board.choose, length, size, rank, board.chosen)


@part
def remove_point(board: Board, log: Log, row: int, place: int) -> None:
    """Remove a point of a row, and every occurrence that contains it."""
    first = board.offsets[row]
    length = board.offsets[row + 1] - first
    count = 0
    for other in range(length):
        if other != place and board.kept[first + other] != 0:
            board.others[count] = other
            count += 1
    for size in range(1, len(board.begins) + 1):
        if size - 1 > count:
            break
        first_subset(board.chosen, size - 1)
        more = True
        while more:
            rank = _rank_with(board, length, size, place)
            _remove_occurrence(board, row, board.begins[size - 1, row] + rank)
            more = next_subset(board.chosen, size - 1, count)
    board.kept[first + place] = 0
    board.lengths[row] -= 1
    log.removed[log.ends[1]] = first + place
    log.steps[log.ends[1]] = log.ends[0]
    log.ends[1] += 1
    if count == 0 and board.limits[3] != 0:
        _forget_row(board, row)


@part
def _rank_with(board: Board, length: int, size: int, place: int) -> int:
    """Return the rank of the subset of a point and the chosen ones of the others."""
    rank = board.choose[length, size] - 1
    taken = 0
    for slot in range(size):
        at = place
        if taken < size - 1 and (taken < slot or board.others[board.chosen[taken]] < place):
            at = board.others[board.chosen[taken]]
            taken += 1
        rank -= board.choose[length - 1 - at, size - slot]
    return int(rank)


@part
def _remove_occurrence(board: Board, row: int, occurrence: int) -> None:
    piece = board.pieces[occurrence]
    board.gone[occurrence] = 1
    board.cell_counts[board.cells[occurrence]] -= 1
    board.totals[piece] -= 1
    member = -1
    if len(board.members) > 0:
        member = board.members[occurrence]
    if member < 0:
        board.crowds[piece] -= 1
    else:
        count = board.member_counts[member]
        if board.limits[3] != 0:
            _resize(board, piece, count)
        board.member_counts[member] = count - 1
        if board.limits[3] != 0:
            settle_member(board, piece, member, board.users[row])
        if count == 1:
            board.crowds[piece] -= 1
    look_at(board, piece)


@part
def _resize(board: Board, piece: int, count: int) -> None:
    """Count a member of a piece who is about to match with one row less."""
    if count >= 2:
        board.sizes[board.sizes_begin[piece] + count - 2] -= 1
    if count >= 3:
        board.sizes[board.sizes_begin[piece] + count - 3] += 1


@part
def settle_member(board: Board, piece: int, member: int, user: int) -> None:
    """Count a member among those of whom all rows match, if that is so."""
    count = board.member_counts[member]
    whole = count if count >= 2 and count == board.records[user] else 0
    before = board.whole_at[member]
    if whole == before:
        return
    if before != 0:
        board.wholes[board.sizes_begin[piece] + before - 2] -= 1
    if whole != 0:
        board.wholes[board.sizes_begin[piece] + whole - 2] += 1
    board.whole_at[member] = whole


@part
def _forget_row(board: Board, row: int) -> None:
    """Count a row without points out, and look at all that other rows of its user match."""
    user = board.users[row]
    board.records[user] -= 1
    for at in range(board.users_begin[user], board.users_begin[user + 1]):
        other = board.user_rows[at]
        if board.lengths[other] == 0:
            continue
        for size in range(1, len(board.begins) + 1):
            for occurrence in range(
                board.begins[size - 1, other], board.begins[size - 1, other + 1]
            ):
                if board.gone[occurrence] == 0:
                    member = board.members[occurrence]
                    settle_member(board, board.pieces[occurrence], member, user)
                    look_at(board, board.pieces[occurrence])
