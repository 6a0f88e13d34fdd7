"""Anonymise the trajectories of one window, and state the guarantee of that."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from math import inf
from typing import ClassVar, Literal

import numpy as np

from fugu.operators.anonymity.attacks import Attacks, attacked
from fugu.operators.anonymity.knowledge import Booleans, Limits, Table, check_base_rate, check_size
from fugu.operators.anonymity.suppression import (
    Removal,
    Repaired,
    Taxonomy,
    repaired,
    suppressed,
    virtual_values,
)
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import RAW_VALUES_SEEN, SECRET, Guarantee, Neighbours, Point
from fugu.operators.mechanism import Draws, Integers

KNOWN_POINTS = Point(
    "known-points",
    "an adversary who knows that a person is in the window, and at most {points:,} of the points "
    "of this person (places, each with its quantum of time), and nothing else",
)
KNOWN_POINTS_OF_ONE_RECORD = Point(
    "known-points-of-one-record",
    "an adversary who knows that a person is in the window, and at most {points:,} of the points "
    "of one record of this person (places, each with its quantum of time), and nothing else",
)
CROWD = Point(
    "crowd",
    "whatever points of one released trajectory the adversary knows, at least {people:,} different "
    "people of the window have a released trajectory with all of them",
)
CONFIDENCE = Point(
    "confidence",
    "among all released records that match what the adversary knows, no category of the sensitive "
    "value has a share above {numerator:,}/{denominator:,}",
)
LINKED_CROWD = Point(
    "linked-crowd",
    "where all records of a person match, at least {people:,} people of the window have as many "
    "records that match",
)
CHECKED = Point(
    "checked-before-publication",
    "four attacks (identity, attribute, similarity, correlated records) are tried on every window, "
    "with all knowledge of so many points, before it is published",
)
THE_REPAIR = Point(
    "fixed-point-of-the-repair",
    "points are removed until no knowledge is left that breaks a bound; the attacks are counted "
    "again from what is to be published. Anonymisation specification, sections 4 and 5",
)
THESIS_FAILS = Point(
    "thesis-table-fails",
    "the thesis's algorithm checks a group against rows that lose points later, counts records "
    "instead of people, and does not look at confidence: its own Table 4.3 is open to identity, "
    "attribute and similarity attacks. Anonymisation specification, section 7",
)
OWN_PLACE_AND_TIME = Point(
    "true-points",
    "points that are published are true: places and times of real people, unchanged",
)
ONE_WINDOW = Point(
    "one-window",
    "the windows of a stream are about different points of time; each promise is about one of them",
)
ONE_KEY_EACH = Point(
    "one-key-each",
    "one key for each person: several keys of one person count as several people in every crowd, "
    "and known points of all of them together may find the person",
)

_JOINED_RECORDS = Point(
    "joined-records",
    "knowledge of points of several records of one person: records that share a key can be joined, "
    "and few people may have all of these points",
)
_NOT_COVERED = (
    Point(
        "no-differential-privacy",
        "differential privacy: nothing is drawn but row keys and the order of rows, so no epsilon "
        "bounds what the presence or the data of one person change in the release",
    ),
    Point(
        "more-points",
        "knowledge of more points than stated: a few more are often enough to find one person",
    ),
    Point(
        "other-knowledge",
        "any other knowledge: that a person was not at a place, approximate places or times, the "
        "length of a trajectory, habits, the map, values of other people, or who else is in the "
        "window",
    ),
    Point(
        "suppressed-points",
        "knowledge of points that were suppressed: the adversary may know them too, and concludes "
        "from what was suppressed, or from a crowd that lacks them, that some records are not the "
        "person's",
    ),
    Point(
        "windows",
        "several windows together: they do not compose, and whoever intersects two releases about "
        "one person may find the person; this goes for overlapping windows and for other releases "
        "of the same data, too",
    ),
    Point(
        "homogeneity",
        "homogeneity below the stated share: a category may be as likely as the share allows, and "
        "so far more likely than in the whole population",
    ),
    Point(
        "coarser-categories",
        "what categories have in common: all records that match may have different categories of "
        "one kind, such as two infections, so that the kind is certain (a privacy height of 2 "
        "leaves nothing above but the root)",
    ),
    Point(
        "particular-values",
        "the difference between categories: one that is rare or grave is treated like any other",
    ),
    Point(
        "absence",
        "knowledge that somebody is absent: rows of people who are known not to be a person count "
        "in the crowd of this person",
    ),
    Point(
        "minimality",
        "an adversary who repeats the algorithm: it is deterministic, removes no more than it must "
        "in its order, and what it removed says something about what would have been seen",
    ),
    Point(
        "presence-in-the-window",
        "presence: that people, and how many, have records in the window, and that a window was "
        "suppressed, is public; a person who is known to be in it has one of its categories",
    ),
    Point(
        "colluding-records",
        "people who write records of invented people: who makes up the rest of a crowd knows which "
        "row of it is left",
    ),
    SECRET,
)


def anonymity_guarantee(
    limits: Limits, *, sound: bool = True, tick_milliseconds: int | None = None
) -> Guarantee:
    """Return what one window promises; epsilon is infinite, since none bounds what is learned.

    `tick_milliseconds` is the width of the window, which is one tick. `sound` is false for the
    thesis's algorithm, whose claim is known to fail.
    """
    share = limits.confidence
    adversary = KNOWN_POINTS_OF_ONE_RECORD if limits.linked else KNOWN_POINTS
    bounds = (
        CROWD.of(people=limits.people),
        CONFIDENCE.of(numerator=share.numerator, denominator=share.denominator),
        *((LINKED_CROWD.of(people=limits.people),) if limits.linked else ()),
    )
    return Guarantee(
        notion="anonymity",
        epsilon=inf,
        delta=0.0,
        per="window",
        neighbours=Neighbours("person", "contribution", "replaced-or-none", kept=()),
        adversary=adversary.of(points=limits.known_points),
        accounting=(*bounds, *((CHECKED,) if sound else ())),
        trust=RAW_VALUES_SEEN,
        assumptions=(ONE_WINDOW, OWN_PLACE_AND_TIME, ONE_KEY_EACH),
        not_covered=((_JOINED_RECORDS,) if limits.linked else ()) + _NOT_COVERED,
        proof=THE_REPAIR if sound else THESIS_FAILS,
        finite_precision_delta=0.0,
        window=1,
        tick_milliseconds=tick_milliseconds,
        sound=sound,
    )


KEY_BYTES = 16

Stage = Literal["repair", "thesis"]


class AttackSucceeded(Exception):
    """Say that an attack finds something in what was to be published: nothing may be."""

    def __init__(self, attacks: Attacks) -> None:
        super().__init__(
            f"{attacks.hits:,} attacks succeed on the window that was to be published; nothing of "
            "it is. This is a fault of Fugu: keep the state directory, and report it"
        )
        self.attacks = attacks


@dataclass(frozen=True, eq=False)
class Anonymized:
    """Hold what is released of a table, and what became of the rest.

    In the order of the release: `rows`, the row of the table that each released row was made of
    (never released); `keys`, a fresh key of 16 bytes for each; `values`, the index of the category
    to release. `kept` says of each point of the table whether it is released, and
    `kept_by_suppression` whether stage 1 kept it; `dropped` lists rows that have no point left.
    `removals` are the steps of stage 2. `released` is what attacks find in the release.
    """

    settings: "Anonymization"
    table: Table
    rows: Integers
    keys: tuple[bytes, ...]
    values: Integers
    kept: Booleans
    kept_by_suppression: Booleans
    dropped: Integers
    removals: tuple[Removal, ...]
    released: Attacks

    @cached_property
    def input(self) -> Attacks:
        """Return what attacks find in the table as it was."""
        return self.settings.attacks_on(self.table)

    @cached_property
    def after_suppression(self) -> Attacks:
        """Return what attacks find in what stage 1 keeps."""
        return self.settings.attacks_on(self.table.with_points(self.kept_by_suppression))

    @property
    def suppressed(self) -> int:
        """Return how many points stage 1 removed."""
        return len(self.kept) - int(self.kept_by_suppression.sum())

    @property
    def points_removed(self) -> dict[str, int]:
        """Return how many points each reason has removed."""
        removed = {"suppression": self.suppressed, "support": 0, "confidence": 0, "correlated": 0}
        for step in self.removals:
            removed[step.reason] += len(step.rows)
        return removed


@dataclass(frozen=True)
class Anonymization:
    """Remove points of trajectories until few known points neither identify nor disclose.

    Claim. In every release, whatever `known_points` points (at most) of one released trajectory an
    adversary knows, at least `people` different people match, and no category of the sensitive
    value has more than `confidence` of the records that match. The attacks of section 5 are
    counted again from the release; a hit raises `AttackSucceeded`. What this is not (differential
    privacy, above all) is in `guarantees()`. Where rows are linked, the claim is about points of
    one record: nothing bounds what points of two records of a person say together.

    Parameters: `taxonomy` of sensitive values; `privacy_height`, the level (at least 2) that values
    are generalised to; `people`, K, at least 2; `known_points`, rho, at least 1; `confidence`,
    sigma, an exact share between 0 and 1; `linked`: released rows of one user carry one key, so
    that the correlated attack is stronger; `stage`: "thesis" stops after stage 1, whose claim is
    known to fail, and is there to compare with.

    Input: a `Table`, rows in the order of (first event time, user). Release: `Anonymized`. Released
    values are categories, where the specification releases original values. Confidence is tested on
    these very categories, which bounds the confidence in an original value, too, since a category
    contains it. Trajectories are the same either way.

    Errors: `Infeasible` where even an adversary without a point knows too much, and where
    sub-trajectories are too many to be counted; `AttackSucceeded`; `ValueError` for parameters out
    of range, and for values that the taxonomy does not have. A `privacy_height` above the height of
    the taxonomy generalises nothing, and is among `warnings`.

    >>> from fugu.operators.anonymity.knowledge import Record
    >>> taxonomy = Taxonomy.from_tree({"Disease": {"Virus": ["Dengue"], "Lung": None}})
    >>> dengue, lung = taxonomy.index("Dengue"), taxonomy.index("Lung")
    >>> rows = [Record(0, (1, 5), dengue), Record(1, (1, 5), lung), Record(2, (1, 7), dengue)]
    >>> rows += [Record(3, (1,), lung)]
    >>> done = Anonymization(taxonomy, 2, people=2, known_points=1).anonymize(Table.of(rows), None)
    >>> done.kept.tolist(), [taxonomy.names[value] for value in done.values]
    ([True, True, True, True, True, False, True], ['Virus', 'Lung', 'Virus', 'Lung'])

    Source: anonymisation specification, sections 2 to 5; Hemkumar (2021), chapter 4, with the
    corrections of section 8.
    """

    kind: ClassVar[str] = "anonymize"
    implementation: ClassVar[int] = 1

    taxonomy: Taxonomy
    privacy_height: int
    people: int
    known_points: int
    confidence: Fraction = Fraction(1, 2)
    linked: bool = False
    stage: Stage = "repair"

    def __post_init__(self) -> None:
        if self.stage not in ("repair", "thesis"):
            raise ValueError("stage: must be repair or thesis")
        # They check the rest.
        _ = self.limits, self.categories

    @cached_property
    def limits(self) -> Limits:
        """Return what every knowledge must leave open."""
        return Limits(self.people, self.known_points, self.confidence, self.linked)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is allowed, and probably not meant."""
        if self.privacy_height <= self.taxonomy.height:
            return ()
        return (
            f"privacy_height {self.privacy_height} is above the height of the taxonomy, "
            f"{self.taxonomy.height}: no value is generalised",
        )

    @cached_property
    def categories(self) -> Integers:
        """Return the index of the category of each value of the taxonomy, by index."""
        return self.taxonomy.categories(self.privacy_height)

    def anonymize(self, table: Table, draws: Draws | None) -> Anonymized:
        """Return the release of a window.

        `draws` has one row, whose position is that of the window; each row of the table has the
        words of one coordinate. Without draws rows keep their order, and their keys are empty.
        """
        if len(table) and int(table.values.max()) >= len(self.taxonomy.names):
            raise ValueError("table: a value is not in the taxonomy")
        limits, categories = self.limits, self.categories[table.values]
        if self.stage == "repair":
            check_base_rate(table, categories, limits, "input")
        check_size(table, limits)
        virtual = virtual_values(table, self.taxonomy, self.privacy_height)
        first = suppressed(table, virtual, people=self.people, known_points=self.known_points)
        done = Repaired(first, ())
        if self.stage == "repair":
            done = repaired(table, first, categories, limits)
        left = table.with_points(done.kept)
        attacks, rows = self.attacks_on(left), np.flatnonzero(left.lengths)
        if self.stage == "repair":
            if attacks.hits:
                raise AttackSucceeded(attacks)
            check_base_rate(left.with_rows(rows), categories[rows], limits, "output")
        order, keys = self._shuffled(table, rows, draws)
        return Anonymized(
            settings=self,
            table=table,
            rows=order,
            keys=keys,
            values=categories[order],
            kept=done.kept,
            kept_by_suppression=first,
            dropped=np.flatnonzero(left.lengths == 0),
            removals=done.removals,
            released=attacks,
        )

    def attacks_on(self, table: Table) -> Attacks:
        """Return what attacks find in a table; rows without points are not in it."""
        with_points = table.with_rows(np.flatnonzero(table.lengths))
        return attacked(with_points, self.categories[with_points.values], self.limits)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the promise about one window."""
        return (anonymity_guarantee(self.limits, sound=self.stage == "repair"),)

    def law_digest(self) -> bytes:
        """Return 32 bytes that change with the configuration and the implementation."""
        parents = (-1 if parent is None else parent for parent in self.taxonomy.parents)
        return binding_digest(
            self.kind,
            self.implementation,
            *(field for pair in zip(self.taxonomy.names, parents, strict=True) for field in pair),
            self.privacy_height,
            self.people,
            self.known_points,
            self.confidence.numerator,
            self.confidence.denominator,
            int(self.linked),
            self.stage,
        )

    def _shuffled(
        self, table: Table, rows: Integers, draws: Draws | None
    ) -> tuple[Integers, tuple[bytes, ...]]:
        """Return the rows in an order that is drawn, each with its key."""
        if draws is None or not len(rows):
            return rows, (b"",) * len(rows)
        binding = [_digest(table)]
        words = draws.words("rows", binding, coordinates=len(table), count=3)[0]
        order = rows[np.argsort(words[rows, 0], kind="stable")]
        whose = order
        if self.linked:
            _, first, inverse = np.unique(table.users, return_index=True, return_inverse=True)
            whose = first[inverse][order]
        keys = words[whose, 1:].astype("<u8")
        return order, tuple(key.tobytes() for key in keys)


def _digest(table: Table) -> bytes:
    """Return a digest of the table and of what its numbers stand for, which draws are bound to."""
    content = blake2b(binding_digest(table.meaning), digest_size=32)
    for column in (table.users, table.offsets, table.points, table.values):
        content.update(len(column).to_bytes(8, "little"))
        content.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
    return content.digest()
