"""The repair: what it leaves withstands every attack, as the specification's loops count them."""

from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Record, Table
from fugu.operators.anonymity.repair import Removal, repaired
from tests.operators.anonymity import reference
from tests.operators.anonymity.random_tables import cases
from tests.operators.anonymity.thesis import everything

HALF = Fraction(1, 2)


def test_what_is_left_withstands_every_attack() -> None:
    for case in cases(seed=11, count=80):
        table, limits = case.table, case.anonymization.limits
        categories = case.anonymization.categories[table.values]
        done = repaired(table, everything(table), categories, limits)
        left = table.with_points(done.kept)
        assert reference.attacked(left, categories, limits).hits == 0


def removals(
    rows: list[Record], people: int = 2, known_points: int = 1, linked: bool = False
) -> tuple[Removal, ...]:
    table = Table.of(rows)
    limits = Limits(people, known_points, HALF, linked)
    return repaired(table, everything(table), table.values, limits).removals


def test_two_rows_of_one_person_are_no_crowd() -> None:
    rows = [Record(0, (1,), 0), Record(0, (1,), 1)]
    assert removals(rows) == (Removal("support", (1,), 1, (0, 1)),)


def test_a_share_at_the_bound_is_allowed() -> None:
    assert removals([Record(0, (1,), 0), Record(1, (1,), 1)]) == ()


def test_a_share_above_the_bound_costs_the_last_row_of_the_category_a_point() -> None:
    rows = [Record(0, (1,), 0), Record(1, (1,), 1), Record(2, (1,), 0)]
    assert removals(rows) == (Removal("confidence", (1,), 1, (2,)),)


def test_the_rarest_point_is_removed_and_the_earliest_on_ties() -> None:
    rows = [Record(0, (1, 2), 0), Record(1, (1,), 1), Record(2, (1, 3), 0), Record(3, (3,), 1)]
    rows += [Record(4, (2,), 1)]
    assert removals(rows, known_points=2) == (
        Removal("confidence", (1,), 1, (2,)),
        Removal("support", (1, 2), 1, (0,)),
        Removal("support", (1,), 1, (1,)),
    )


def test_people_whose_rows_all_match_need_others_with_as_many_where_rows_are_linked() -> None:
    rows = [Record(user, (1,), value) for user, value in ((0, 0), (0, 1), (1, 0), (2, 1))]
    assert removals(rows) == ()
    assert removals(rows, linked=True) == (
        Removal("correlated", (1,), 1, (1,)),
        Removal("confidence", (1,), 1, (2,)),
    )


def test_a_row_without_points_is_no_longer_one_of_a_person() -> None:
    """Once the first row of user 0 is empty, the two others are all that this user has."""
    rows = [Record(0, (9,), 0)]
    rows += [Record(user, (1,), value) for user, value in ((0, 0), (0, 1), (1, 0), (2, 1))]
    assert removals(rows, linked=True) == (
        Removal("support", (9,), 9, (0,)),
        Removal("correlated", (1,), 1, (2,)),
        Removal("confidence", (1,), 1, (3,)),
    )


@pytest.mark.parametrize("kept", [[True, False, True], [False, False, False]])
def test_points_that_are_gone_are_neither_counted_nor_brought_back(kept: list[bool]) -> None:
    table = Table.of([Record(0, (1, 2), 0), Record(1, (1,), 1)])
    mask = np.array(kept)
    done = repaired(table, mask, table.values, Limits(2, 2, HALF))
    assert done.kept.tolist() == kept
    assert mask.tolist() == kept
