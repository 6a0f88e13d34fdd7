"""Release windows of trajectories, one after the other: each is a position of a stream."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import orjson

from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import Infeasible, Table
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Draws, Inputs, Kind, Releases, State
from fugu.operators.randomness import draws_of


@dataclass(frozen=True)
class ReleasedRow:
    """Hold one row of a release: its fresh key, the index of its category, and points by number."""

    key: bytes
    category: int
    points: tuple[int, ...]


@dataclass(frozen=True)
class AnonymizedWindows:
    """Anonymise every window by itself, or suppress it.

    Claim. That of `Anonymization`, about each released window. Nothing is released of a window with
    fewer than `min_people` people, or of which no release keeps the bounds (`Infeasible`).

    Parameters: `anonymization`; `min_people`, at least its `people`; `tick_milliseconds`, the
    width of a window, and `quantum_milliseconds`, that of a point, where they have one in time.

    Input: the table of a window as a payload (`written_table`); None: nobody was there. Release:
    rows as a payload (`released_rows`); None and `Kind.SUPPRESSED` where nothing is released. There
    is no state.

    Errors: `AttackSucceeded` where an attack finds something in what was to be released;
    `ValueError` for parameters out of range.

    >>> from fugu.operators.anonymity.knowledge import Record
    >>> from fugu.operators.anonymity.suppression import Taxonomy
    >>> taxonomy = Taxonomy.from_tree({"Disease": {"Virus": ["Dengue"], "Lung": None}})
    >>> windows = AnonymizedWindows(Anonymization(taxonomy, 2, 2, 1), min_people=2)
    >>> windows.anonymization.people, windows.start(3)
    (2, {})

    Source: anonymisation specification, section 6.
    """

    kind: ClassVar[str] = "anonymize"
    implementation: ClassVar[int] = Anonymization.implementation

    anonymization: Anonymization
    min_people: int
    tick_milliseconds: int | None = None
    quantum_milliseconds: int | None = None

    def __post_init__(self) -> None:
        people = self.anonymization.people
        if self.min_people != int(self.min_people) or self.min_people < people:
            raise ValueError(f"min_people: must be a whole number of at least K, {people}")

    def start(self, rows: int) -> State:
        """Return no columns: a window has nothing to do with those before it."""
        return {}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release one window of each row."""
        rows = len(inputs.values)
        values, kinds = np.full(rows, None, dtype=object), np.full(rows, Kind.SUPPRESSED)
        for row, payload in enumerate(inputs.values.tolist()):
            own = draws_of(draws, np.array([row]), rows)
            release = None if payload is None else self._released(read_table(payload), own)
            if release is not None:
                values[row], kinds[row] = release, Kind.FRESH
        return {}, Releases(values, {}, kinds.astype(np.int64))

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the promise about each window."""
        promises = self.anonymization.guarantees()
        return tuple(replace(one, tick_milliseconds=self.tick_milliseconds) for one in promises)

    def audit(self) -> dict[str, object]:
        """Return the bounds that hold for each window."""
        anonymization = self.anonymization
        taxonomy, share = anonymization.taxonomy, Fraction(anonymization.confidence)
        categories = np.unique(anonymization.categories)
        return {
            "people behind any known points (K)": anonymization.people,
            "known points (rho)": anonymization.known_points,
            "largest share of a category (sigma)": f"{share.numerator}/{share.denominator}",
            "fewest people of a window": self.min_people,
            "levels of the taxonomy": taxonomy.height,
            "values of the taxonomy": len(taxonomy.names),
            "categories that are released": len(categories),
        }

    def law_digest(self) -> bytes:
        """Return 32 bytes that change with the configuration and the implementation."""
        return binding_digest(
            self.kind,
            self.implementation,
            self.anonymization.law_digest(),
            self.min_people,
            self.tick_milliseconds or 0,
            self.quantum_milliseconds or 0,
        )

    def _released(self, table: Table, draws: Draws) -> bytes | None:
        if table.people < self.min_people:
            return None
        try:
            done = self.anonymization.anonymize(table, draws)
        except Infeasible:
            return None
        if not len(done.rows):
            return None
        left = table.with_points(done.kept)
        rows = zip(done.keys, done.values.tolist(), done.rows.tolist(), strict=True)
        return orjson.dumps(
            [[key.hex(), value, left.trajectory(row).tolist()] for key, value, row in rows]
        )


def written_table(table: Table) -> bytes:
    """Return a table as a payload.

    >>> from fugu.operators.anonymity.knowledge import Record
    >>> read_table(written_table(Table.of([Record(3, (1, 5), 2)]))).trajectory(0).tolist()
    [1, 5]
    """
    names = ("users", "offsets", "points", "values")
    columns = {name: getattr(table, name).tolist() for name in names}
    return orjson.dumps({"meaning": table.meaning.hex(), **columns})


def read_table(payload: bytes) -> Table:
    """Return what `written_table` gave."""
    columns = orjson.loads(payload)
    meaning = bytes.fromhex(columns.pop("meaning"))
    arrays = {name: np.array(column, dtype=np.int64) for name, column in columns.items()}
    return Table(**arrays, meaning=meaning)


def released_rows(payload: bytes) -> list[ReleasedRow]:
    """Return the rows of a release, in its order."""
    return [
        ReleasedRow(bytes.fromhex(key), category, tuple(points))
        for key, category, points in orjson.loads(payload)
    ]
