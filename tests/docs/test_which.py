"""Keep the page that asks which kind to take complete: every kind has its place on it."""

import re
from pathlib import Path

from fugu.dataflows.kinds import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "which.md").read_text()
WORD = re.compile(r"[a-z]\w*")
TREE = re.compile(r"```text\n(.*?)```", re.DOTALL)
REST = "## Kinds that no question leads to"


def led_to() -> set[str]:
    """Return the kinds in the trees of questions, and in the first question."""
    first = PAGE.split("## 1. ", 1)[1].split("\n## ", 1)[0]
    words = [word for tree in TREE.findall(PAGE) for word in WORD.findall(tree)]
    return {*words, *re.findall(r"`(\w+)`", first)} & KINDS.keys()


def left_over() -> list[str]:
    """Return the kinds of the table of those that no question leads to."""
    table = PAGE.split(REST, 1)[1].split("|---|---|\n", 1)[1].split("\n\n", 1)[0]
    return [
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]


def test_every_kind_is_the_answer_to_questions_or_says_why_it_is_none() -> None:
    assert led_to() | {*left_over()} == {*KINDS}
    assert led_to().isdisjoint(left_over())
    assert len(left_over()) == len({*left_over()})


def test_every_name_in_a_tree_that_looks_like_a_kind_is_one() -> None:
    names = {word for tree in TREE.findall(PAGE) for word in WORD.findall(tree) if "_" in word}
    assert names - KINDS.keys() == {"at_most"}
