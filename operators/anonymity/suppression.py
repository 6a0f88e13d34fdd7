"""Generalise, suppress and repair trajectories until nobody is told apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from fugu.operators.anonymity.compiled_board import Board, Log, room_for
from fugu.operators.anonymity.knowledge import Booleans, Knowledge, Limits, Numbers, Table
from fugu.operators.mechanism import Integers

LOWEST_HEIGHT = 2
"""Bound privacy heights from below: the root, level 1, says nothing."""


@dataclass(frozen=True)
class Taxonomy:
    """Hold a rooted tree of names, each with the index of its parent; the root has none.

    A level counts from the root, which is at level 1. The category of a value at a height is the
    nearest of the value and its ancestors whose level is that height at most.

    Errors: no root or several, a parent that is not a name, a name that occurs twice, a circle.

    >>> tree = {"Disease": {"Virus infection": ["Dengue", "H1N1"], "Lung infection": None}}
    >>> taxonomy = Taxonomy.from_tree(tree)
    >>> taxonomy.height, taxonomy.level("Dengue"), taxonomy.category("Dengue", 2)
    (3, 3, 'Virus infection')
    >>> taxonomy.category("Lung infection", 2)
    'Lung infection'

    Source: anonymisation specification, sections 1 and 2 (`evsv`).
    """

    names: tuple[str, ...]
    parents: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.parents):
            raise ValueError("taxonomy: give one parent for each name, and None for the root")
        seen: set[str] = set()
        for name in self.names:
            if not name:
                raise ValueError("taxonomy: a name is empty")
            if name in seen:
                raise ValueError(f"taxonomy: {name!r} occurs twice; give each name one place")
            seen.add(name)
        roots = [name for name, up in zip(self.names, self.parents, strict=True) if up is None]
        if len(roots) != 1:
            known = ", ".join(map(repr, roots)) or "none"
            raise ValueError(
                f"taxonomy: needs exactly one root, a name without parent; has {known}"
            )
        self._check_circles()

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None]) -> "Taxonomy":
        """Return the taxonomy of names and their parents; None is the parent of the root."""
        names = tuple(parents)
        places = {name: place for place, name in enumerate(names)}
        for name, parent in parents.items():
            if parent is not None and parent not in places:
                raise ValueError(f"taxonomy: the parent of {name!r}, {parent!r}, is not a name")
        return cls(
            names,
            tuple(None if parent is None else places[parent] for parent in parents.values()),
        )

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Taxonomy":
        """Return the taxonomy of a nested mapping from names to what is below them.

        Below a name stands another mapping, a list of names or of mappings, one name, or None.
        """
        pairs = list(_walk(tree, None))
        names = tuple(name for name, _ in pairs)
        return cls(names, tuple(parent for _, parent in _numbered(pairs)))

    @property
    def root(self) -> str:
        """Return the name that everything is below."""
        return self.names[self.parents.index(None)]

    @cached_property
    def levels(self) -> Integers:
        """Return the level of each name, by index."""
        levels = np.zeros(len(self.names), dtype=np.int64)
        for place in range(len(self.names)):
            levels[place] = len(self._path(place))
        return levels

    @property
    def height(self) -> int:
        """Return the largest level."""
        return int(self.levels.max())

    def index(self, value: str) -> int:
        """Return the index of a value. Raise `ValueError` if the taxonomy does not have it."""
        try:
            return self._places[value]
        except KeyError:
            raise ValueError("the value is not in the taxonomy; add it, or correct it") from None

    def level(self, value: str) -> int:
        """Return the level of a value; that of the root is 1."""
        return int(self.levels[self.index(value)])

    def category(self, value: str, height: int) -> str:
        """Return the nearest of the value and its ancestors whose level is `height` at most."""
        return self.names[int(self.categories(height)[self.index(value)])]

    def categories(self, height: int) -> Integers:
        """Return the index of the category of each name at this height, by index."""
        if height < LOWEST_HEIGHT:
            raise ValueError(
                f"privacy_height: {height} is below {LOWEST_HEIGHT}; the root says nothing"
            )
        found = [self._path(place)[:height][-1] for place in range(len(self.names))]
        return np.array(found, dtype=np.int64)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def _path(self, place: int) -> list[int]:
        """Return the indices from the root to a name."""
        path: list[int] = [place]
        while (parent := self.parents[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]

    def _check_circles(self) -> None:
        below_root: set[int] = set()
        for place, name in enumerate(self.names):
            path: set[int] = set()
            at: int | None = place
            while at is not None and at not in below_root:
                if not 0 <= at < len(self.names):
                    raise ValueError(f"taxonomy: {name!r} is below something that is not a name")
                if at in path:
                    raise ValueError(f"taxonomy: {name!r} is below itself; remove the circle")
                path.add(at)
                at = self.parents[at]
            below_root |= path


def _walk(below: Any, parent: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield each name and its parent, every parent before its children."""
    match below:
        case None:
            return
        case str():
            yield below, parent
        case Mapping():
            for name, rest in below.items():
                if not isinstance(name, str):
                    raise ValueError(f"taxonomy: {name!r} is not a text; put it in quotes")
                yield name, parent
                yield from _walk(rest, name)
        case Sequence():
            for part in below:
                yield from _walk(part, parent)
        case _:
            raise ValueError(
                f"taxonomy: below {parent!r} stands {below!r}; write names, lists or mappings there"
            )


def _numbered(pairs: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, int | None]]:
    places: dict[str, int] = {}
    for place, (name, parent) in enumerate(pairs):
        yield name, None if parent is None else places[parent]
        places.setdefault(name, place)


def virtual_values(table: Table, taxonomy: Taxonomy, height: int) -> Integers:
    """Return the virtual value of each row, as an index in the taxonomy.

    It is the value of the user's row with the largest level that is `height` at most, the first row
    on ties; where no row has such a value, the category of the user's first row. A virtual value is
    a key to group by, and may be no ancestor of the value of a row: it is never released or tested.

    >>> from fugu.operators.anonymity.knowledge import Record
    >>> taxonomy = Taxonomy.from_tree({"Disease": {"Virus": ["Dengue"], "Lung": None}})
    >>> dengue, lung = taxonomy.index("Dengue"), taxonomy.index("Lung")
    >>> table = Table.of([Record(0, (), dengue), Record(0, (), lung), Record(1, (), dengue)])
    >>> [taxonomy.names[value] for value in virtual_values(table, taxonomy, 2)]
    ['Lung', 'Lung', 'Virus']

    Source: anonymisation specification, section 2 (`sav`), with the corrections of section 8: users
    are grouped over the whole table, and ties go to the first row.
    """
    categories = taxonomy.categories(height)
    levels = taxonomy.levels[table.values]
    score = np.where(levels <= height, levels, 0)
    rows = np.arange(len(table))
    order = np.lexsort((rows, -score, table.users))
    users, first = np.unique(table.users[order], return_index=True)
    best = order[first]
    # The category of a value at or above the height is the value itself.
    return categories[table.values[best]][np.searchsorted(users, table.users)]


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
    >>> from fugu.operators.anonymity.knowledge import Record
    >>> table = Table.of([Record(0, (1, 2), 0), Record(1, (1, 2), 1), Record(2, (1, 3), 0)])
    >>> limits = Limits(people=2, known_points=1, confidence=Fraction(2, 3))
    >>> done = repaired(table, np.ones(6, dtype=np.bool_), table.values, limits)
    >>> done.kept.tolist()
    [True, True, True, True, True, False]
    >>> done.removals
    (Removal(reason='support', known=(3,), point=3, rows=(2,)),)

    Source: anonymisation specification, section 4.
    """
    from fugu.operators.anonymity.compiled_suppression import repair

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
