"""Count what the repair starts from."""

import numpy as np

from fugu.operators.anonymity.compiled_board import Board, Log
from fugu.operators.anonymity.compiled_least import room_for
from fugu.operators.anonymity.knowledge import Knowledge, Numbers
from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Table
from fugu.operators.mechanism import Integers


def board_of(table: Table, categories: Integers, limits: Limits) -> Board:
    """Return the counts before the first step; `categories` has one number per row."""
    known = Knowledge.of(table, limits.known_points)
    pieces, rows = known.pieces, _rows(table, known)
    totals = np.bincount(pieces, minlength=known.count).astype(np.int32)
    _, categories = np.unique(categories, return_inverse=True)
    _, users = np.unique(table.users, return_inverse=True)
    with_points = table.lengths > 0
    records = np.bincount(users[with_points], minlength=int(users.max(initial=-1)) + 1)
    cells, cell_pieces, cell_counts, listing = _paired(pieces, categories[rows])
    lists = _ends(cell_counts)
    several = np.flatnonzero(records[users[rows]] > 1)
    members, crowds = np.empty(0, dtype=np.int32), totals.copy()
    member_pieces = member_users = member_counts = np.empty(0, dtype=np.int64)
    if len(several):
        members = np.full(len(pieces), -1, dtype=np.int32)
        own, member_pieces, member_counts, order = _paired(pieces[several], users[rows[several]])
        members[several] = own
        member_users = users[rows[several]][order[_ends(member_counts)[:-1]]]
        crowds -= np.bincount(member_pieces, member_counts - 1, known.count).astype(np.int32)
    whole = (member_counts > 1) & (member_counts == records[member_users])
    largest = np.ones(known.count, dtype=np.int64)
    np.maximum.at(largest, member_pieces, member_counts)
    sizes_begin = _ends(largest - 1)
    repeated = member_counts > 1
    at = sizes_begin[member_pieces] + member_counts - 2
    marks, levels = room_for(len(pieces))
    share = limits.confidence
    return Board(
        offsets=table.offsets,
        kept=np.ones(len(table.points), dtype=np.uint8),
        lengths=table.lengths,
        begins=known.begins,
        pieces=pieces,
        choose=known.choose,
        gone=np.zeros(len(pieces), dtype=np.uint8),
        totals=totals,
        crowds=crowds,
        cells=cells,
        cells_of=_ends(np.bincount(cell_pieces, minlength=known.count)),
        cell_counts=cell_counts.astype(np.int32),
        listing=listing,
        lists=lists,
        heads=lists[:-1].copy(),
        tails=lists[1:] - 1,
        members=members,
        member_counts=member_counts.astype(np.int32),
        users=users,
        records=records,
        user_rows=np.argsort(users, kind="stable"),
        users_begin=_ends(np.bincount(users, minlength=len(records))),
        sizes=np.bincount(at[repeated], minlength=int(sizes_begin[-1])).astype(np.int32),
        wholes=np.bincount(at[whole], minlength=int(sizes_begin[-1])).astype(np.int32),
        sizes_begin=sizes_begin,
        whole_at=np.where(whole, member_counts, 0).astype(np.int32),
        marks=marks,
        levels=levels,
        limits=np.array([limits.people, share.numerator, share.denominator, int(limits.linked)]),
        others=np.zeros(int(table.lengths.max(initial=0)), dtype=np.int64),
        chosen=np.zeros(limits.known_points, dtype=np.int64),
    )


def log_for(table: Table, limits: Limits) -> Log:
    """Return an empty log with room for the removal of every point."""
    points = len(table.points)
    return Log(
        reasons=np.zeros(points, dtype=np.uint8),
        known=np.full(points * limits.known_points, -1, dtype=np.int64),
        points=np.zeros(points, dtype=np.int64),
        removed=np.zeros(points, dtype=np.int64),
        steps=np.zeros(points, dtype=np.int64),
        ends=np.zeros(2, dtype=np.int64),
    )


def _rows(table: Table, known: Knowledge) -> Integers:
    """Return the row of each occurrence."""
    counts = np.diff(known.begins, axis=1).ravel()
    return np.repeat(np.tile(np.arange(len(table)), len(known.begins)), counts)


def _paired(pieces: Numbers, others: Integers) -> tuple[Numbers, Integers, Integers, Numbers]:
    """Number the pairs of a piece and another number: return the pair of each occurrence; the piece
    and the occurrences of each pair; and the occurrences by pair, in their order."""
    keys = pieces.astype(np.int64) * (int(others.max(initial=0)) + 1) + others
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    pairs = np.empty(len(keys), dtype=np.int32)
    pairs[order] = np.cumsum(new) - 1
    firsts = np.flatnonzero(new)
    counts = np.diff(np.append(firsts, len(keys)))
    return pairs, pieces[order[firsts]].astype(np.int64), counts, order.astype(np.int32)


def _ends(counts: Integers) -> Integers:
    """Return where each of several stretches begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
