"""Taxonomies: what is a tree, and what a value is generalised to."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fugu.operators.anonymity.knowledge import Limits, Record, Table
from fugu.operators.anonymity.suppression import Removal, Taxonomy, repaired, virtual_values
from tests.operators.anonymity import reference
from tests.operators.anonymity.random_tables import cases
from tests.operators.anonymity.thesis import TAXONOMY, everything

PARENTS = {"H1N1": "Virus", "Virus": "Disease", "Disease": None, "Lung": "Disease"}


def test_a_parent_may_come_after_its_children() -> None:
    taxonomy = Taxonomy.from_parents(PARENTS)
    assert taxonomy.root == "Disease"
    assert taxonomy.height == 3
    assert [taxonomy.level(name) for name in PARENTS] == [3, 2, 1, 2]


def test_lists_and_mappings_can_stand_below_each_other() -> None:
    tree = {"all": [{"a": ["a1", {"a2": "a21"}]}, "b"]}
    taxonomy = Taxonomy.from_tree(tree)
    assert taxonomy.names == ("all", "a", "a1", "a2", "a21", "b")
    assert taxonomy.category("a21", 2) == "a"
    assert taxonomy.category("a21", 3) == "a2"


@pytest.mark.parametrize("value", ["Dengue", "Cholera", "Lung infection", "Disease"])
@pytest.mark.parametrize("height", [2, 3, 4])
def test_a_category_is_the_nearest_ancestor_whose_level_is_low_enough(
    value: str, height: int
) -> None:
    category = TAXONOMY.category(value, height)
    while TAXONOMY.level(value) > height:
        parent = TAXONOMY.parents[TAXONOMY.index(value)]
        assert parent is not None
        value = TAXONOMY.names[parent]
    assert category == value


def test_a_value_four_levels_down_does_not_fall_off_the_root() -> None:
    """Algorithm 4.2, as printed, skips levels: specification, section 8."""
    chain = Taxonomy.from_tree({"root": {"two": {"three": "four"}}})
    assert chain.category("four", 2) == "two"


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({}, "exactly one root"),
        ({"a": None, "b": None}, "exactly one root.*'a', 'b'"),
        ({"a": None, "b": "c"}, "the parent of 'b', 'c', is not a name"),
        ({"r": None, "a": "b", "b": "a"}, "'a' is below itself"),
        ({"r": None, "": "r"}, "a name is empty"),
    ],
)
def test_what_is_no_tree_is_refused(parents: Mapping[str, str | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Taxonomy.from_parents(parents)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"r": {"a": ["x"], "b": ["x"]}}, "'x' occurs twice"),
        ({"r": {"a": "r"}}, "'r' occurs twice"),
        ({"r": {"a": 7}}, "below 'a' stands 7"),
        ({"r": {True: None}}, "put it in quotes"),
        ({"r": None, "s": None}, "exactly one root"),
    ],
)
def test_a_tree_with_a_mistake_is_refused(tree: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Taxonomy.from_tree(tree)


def test_a_taxonomy_may_have_a_hundred_thousand_names() -> None:
    names = ("root", *(f"code {number}" for number in range(1, 100_000)))
    taxonomy = Taxonomy(names, (None, *(number // 10 for number in range(1, 100_000))))
    assert taxonomy.height == 6
    assert taxonomy.category("code 98765", 2) == "code 9"


def test_parents_outside_the_names_are_refused() -> None:
    with pytest.raises(ValueError, match="not a name"):
        Taxonomy(("a", "b"), (None, 2))
    with pytest.raises(ValueError, match="one parent for each name"):
        Taxonomy(("a", "b"), (None,))


def test_an_unknown_value_is_refused_without_being_repeated() -> None:
    with pytest.raises(ValueError, match="not in the taxonomy") as raised:
        TAXONOMY.level("secret disease")
    assert "secret" not in str(raised.value)


def test_the_root_is_no_privacy_height() -> None:
    with pytest.raises(ValueError, match="privacy_height: 1 is below 2"):
        TAXONOMY.categories(1)


# Virtual values: one for all rows of a user.


def virtual(*rows: tuple[int, str], height: int = 2) -> list[str]:
    table = Table.of(Record(user, (), TAXONOMY.index(value)) for user, value in rows)
    return [TAXONOMY.names[value] for value in virtual_values(table, TAXONOMY, height)]


def test_rows_of_a_user_need_not_be_neighbours() -> None:
    rows = (7, "Dengue"), (3, "Typhoid"), (7, "Lung infection")
    assert virtual(*rows) == ["Lung infection", "Bacterial infection", "Lung infection"]


def test_the_largest_level_that_is_low_enough_wins() -> None:
    rows = (1, "Lung infection"), (1, "Dengue"), (1, "Virus infection")
    assert virtual(*rows, height=3) == ["Dengue"] * 3


def test_the_first_row_wins_ties() -> None:
    assert virtual((1, "High blood sugar"), (1, "Lung infection")) == ["High blood sugar"] * 2


def test_without_a_candidate_the_first_value_is_generalised() -> None:
    assert virtual((1, "Typhoid"), (1, "Dengue")) == ["Bacterial infection"] * 2


def test_nothing_has_no_virtual_value() -> None:
    assert virtual() == []


# The repair: what it leaves withstands every attack, as the specification's loops count them.


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
