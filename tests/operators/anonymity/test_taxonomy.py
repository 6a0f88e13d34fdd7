"""Taxonomies: what is a tree, and what a value is generalised to."""

from collections.abc import Mapping
from typing import Any

import pytest

from fugu.operators.anonymity.taxonomy import Taxonomy
from tests.operators.anonymity.thesis import TAXONOMY

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
