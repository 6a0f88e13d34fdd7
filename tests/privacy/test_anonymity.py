"""Attack published windows as a reader of the topic would, and show what is not promised."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from fugu.operators.anonymity.anonymization import Anonymization, Anonymized
from fugu.operators.anonymity.knowledge import Infeasible, Record, Table
from fugu.operators.randomness import DrawScope, Secret, tick_position
from tests.operators.anonymity.random_tables import TAXONOMY, cases

SCOPE = DrawScope(Secret(bytes(32)), "attacked", "anonymize", 1, bytes(32))
A, B, C, D = map(TAXONOMY.index, ("a2", "b1", "c", "d11"))


@dataclass(frozen=True)
class Row:
    """Hold what readers see of a row, and whose it is, which they do not see."""

    key: bytes
    points: frozenset[int]
    category: int
    user: int


def published(anonymization: Anonymization, table: Table, window: int = 0) -> list[Row]:
    draws = SCOPE.draws([b"windows"], [tick_position("visits", window)])
    return seen(anonymization.anonymize(table, draws), table)


def seen(done: Anonymized, table: Table) -> list[Row]:
    left = table.with_points(done.kept)
    return [
        Row(key, frozenset(left.trajectory(row).tolist()), value, int(table.users[row]))
        for key, row, value in zip(done.keys, done.rows.tolist(), done.values.tolist(), strict=True)
    ]


def people(rows: Iterable[Row]) -> set[int]:
    return {row.user for row in rows}


def matching(rows: Sequence[Row], known: Iterable[int]) -> list[Row]:
    return [row for row in rows if row.points.issuperset(known)]


def knowledge(rows: Sequence[Row], most: int) -> Iterator[tuple[int, ...]]:
    """Yield all that somebody may know of one row, nothing included."""
    for row in rows:
        for size in range(most + 1):
            yield from combinations(sorted(row.points), size)


def test_readers_who_know_few_points_find_a_crowd_and_no_dominant_category() -> None:
    """100 random tables, every row, every knowledge, counted from what is published."""
    tried = 0
    for number, case in enumerate(cases(seed=12, count=100)):
        settings = case.anonymization
        try:
            rows = published(settings, case.table, number)
        except Infeasible:
            continue
        for known in knowledge(rows, settings.known_points):
            matched = matching(rows, known)
            [(_, most)] = Counter(row.category for row in matched).most_common(1)
            assert len(people(matched)) >= settings.people
            assert most <= settings.confidence * len(matched)
            tried += 1
    assert tried > 1_000


def test_rows_that_share_a_key_are_a_crowd_among_those_with_as_many_that_match() -> None:
    """Whoever sees keys, and knows points of one record, counts rows of each key that match."""
    tried = 0
    for number, case in enumerate(cases(seed=13, count=300)):
        settings = case.anonymization
        if not settings.linked:
            continue
        try:
            rows = published(settings, case.table, number)
        except Infeasible:
            continue
        all_rows = Counter(row.key for row in rows)
        for known in knowledge(rows, settings.known_points):
            by_key = Counter(row.key for row in matching(rows, known))
            alike = Counter(by_key.values())
            for key, count in by_key.items():
                if known and 2 <= count == all_rows[key]:
                    assert alike[count] >= settings.people
                    tried += 1
    assert tried > 100


def one_point() -> Anonymization:
    return Anonymization(TAXONOMY, 2, people=2, known_points=1, confidence=Fraction(1, 2))


def test_more_points_than_rho_may_find_one_person() -> None:
    """`more-points` is not covered."""
    rows = [Record(0, (1, 2), A), Record(1, (1,), B), Record(2, (2,), C), Record(3, (3,), D)]
    rows += [Record(4, (3,), A)]
    done = published(one_point(), Table.of(rows))
    assert len(people(matching(done, (1,)))) == len(people(matching(done, (2,)))) == 2
    assert people(matching(done, (1, 2))) == {0}


def test_two_windows_together_may_find_a_category() -> None:
    """`windows` are not covered: the values that match in both are those of one person."""
    settings = one_point()
    first = [Record(0, (1,), A), Record(1, (1,), B), Record(2, (2,), C), Record(3, (2,), D)]
    second = [Record(0, (5,), A), Record(3, (5,), D), Record(1, (6,), B), Record(2, (6,), C)]
    of_first = {row.category for row in matching(published(settings, Table.of(first), 0), (1,))}
    of_second = {row.category for row in matching(published(settings, Table.of(second), 1), (5,))}
    assert len(of_first) == len(of_second) == 2
    [category] = of_first & of_second
    assert TAXONOMY.names[category] == "a"


def test_who_knows_that_somebody_was_elsewhere_may_find_a_category() -> None:
    """`absence` is not covered: user 1 is known not to be the one who is looked for."""
    rows = [Record(0, (1,), A), Record(1, (1,), B)]
    done = published(one_point(), Table.of(rows))
    [left] = [row for row in matching(done, (1,)) if row.user != 1]
    assert left.user == 0


def test_categories_that_match_may_all_be_of_one_kind() -> None:
    """`coarser-categories` are not covered: a1 and a2 are both kinds of a."""
    rows = [Record(0, (1,), TAXONOMY.index("a1")), Record(1, (1,), A)]
    rows += [Record(2, (2,), B), Record(3, (2,), D)]
    settings = Anonymization(TAXONOMY, 3, people=2, known_points=1)
    done = matching(published(settings, Table.of(rows)), (1,))
    assert len({row.category for row in done}) == 2
    assert {TAXONOMY.category(TAXONOMY.names[row.category], 2) for row in done} == {"a"}


def test_points_of_two_records_that_share_a_key_may_find_one_person() -> None:
    """`joined-records` are not covered where rows are linked, and rho counts points of one."""
    linked = Anonymization(TAXONOMY, 2, people=2, known_points=2, linked=True)
    rows = [Record(0, (1,), A), Record(0, (2,), B), Record(1, (1,), C), Record(2, (2,), D)]
    done = published(linked, Table.of(rows))
    with_1, with_2 = ({row.key for row in matching(done, (point,))} for point in (1, 2))
    assert len(with_1) == len(with_2) == 2
    assert len(with_1 & with_2) == 1
    unlinked = Anonymization(TAXONOMY, 2, people=2, known_points=2)
    rows_of = published(unlinked, Table.of(rows))
    assert len({row.key for row in rows_of}) == len(rows_of) == 4
