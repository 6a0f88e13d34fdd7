"""Tables 4.2 and 4.3 of the thesis, and what the repair makes of them: specification, section 7."""

from fractions import Fraction

import pytest

from fugu.operators.anonymity.attacks import Attacks
from fugu.operators.anonymity.suppression import virtual_values
from tests.operators.anonymity.thesis import (
    TABLE,
    TAXONOMY,
    name,
    thesis_settings,
    trajectories,
)

VIRTUAL = "VHVHVLHBB"
TABLE_4_3 = [
    "p3 m4 k6 m8",
    "d2 n5 k6 n7",
    "n7 m8",
    "p3 m4 k6 m8",
    "d2 n5 k6 m9",
    "n5 k6 m9",
    "k6 n7 m8",
    "d2 k6 m9",
    "d2 n5 m9",
]
SAFE = [
    "p3 m4 k6 m8",
    "d2 n5 k6",
    "",
    "p3 m4 k6 m8",
    "d2 n5 k6 m9",
    "n5 k6 m9",
    "k6",
    "d2 k6 m9",
    "n5 m9",
]
REPAIR_LOG = [
    ("confidence", "n7", "n7", "r7"),
    ("confidence", "k6 m8", "m8", "r7"),
    ("confidence", "m8", "m8", "r3"),
    ("support", "d2 n7", "n7", "r2"),
    ("support", "n7", "n7", "r3"),
    ("confidence", "d2 m9", "d2", "r9"),
]
ONE_POINT = [
    "a1 d2 p3 m4 k6 m8",
    "d2 n5 k6 n7",
    "n7 m8",
    "p3 m4 k6 m8",
    "d2 n5 k6 m9",
    "n5 k6 m9",
    "k6 n7 m8",
    "a1 d2 k6 n7 m9",
    "d2 n5 n7 m9",
]
THREE_POINTS = [
    "p3 m4 k6 m8",
    "n5",
    "m8",
    "p3 m4 k6 m8",
    "n5 k6 m9",
    "n5 k6 m9",
    "m8",
    "k6 m9",
    "n5 m9",
]
THREE_PEOPLE = ["k6", "n5 k6", "", "k6", "n5 k6 m9", "n5 k6 m9", "", "k6 m9", "n5 m9"]


def hits(attacks: Attacks) -> tuple[int, int, int, int]:
    four = (attacks.identity, attacks.attribute, attacks.similarity, attacks.correlated)
    identity, attribute, similarity, correlated = (attack.knowledge for attack in four)
    return identity, attribute, similarity, correlated


def log(**others: object) -> list[tuple[str, str, str, str]]:
    steps = thesis_settings(**others).anonymize(TABLE, None).removals  # type: ignore[arg-type]
    return [
        (
            step.reason,
            " ".join(map(name, step.known)),
            name(step.point),
            " ".join(f"r{row + 1}" for row in step.rows),
        )
        for step in steps
    ]


def test_virtual_values_are_those_of_table_4_2() -> None:
    found = virtual_values(TABLE, TAXONOMY, 2)
    assert "".join(TAXONOMY.names[value][0] for value in found) == VIRTUAL


def test_the_first_stage_gives_table_4_3() -> None:
    done = thesis_settings(stage="thesis").anonymize(TABLE, None)
    assert trajectories(TABLE, done.kept) == TABLE_4_3
    assert done.suppressed == 8
    assert done.removals == ()


def test_the_loss_of_table_4_3_is_that_of_the_thesis() -> None:
    lost = [
        1 - Fraction(len(left.split()), length)
        for left, length in zip(TABLE_4_3, TABLE.lengths.tolist(), strict=True)
    ]
    assert round(float(sum(lost)), 4) == 1.6833


@pytest.mark.parametrize("linked", [False, True])
def test_the_repair_gives_the_safe_table(linked: bool) -> None:
    done = thesis_settings(linked=linked).anonymize(TABLE, None)
    assert trajectories(TABLE, done.kept) == SAFE
    assert done.kept.sum() == 24
    assert done.dropped.tolist() == [2]


def test_the_steps_of_the_repair_are_in_the_order_of_the_specification() -> None:
    assert log() == REPAIR_LOG


def test_the_first_step_of_linked_records_is_about_correlated_records() -> None:
    assert log(linked=True)[0] == ("correlated", "m8", "m8", "r3")


@pytest.mark.parametrize(
    ("people", "known_points", "left"),
    [(2, 1, ONE_POINT), (2, 3, THREE_POINTS), (3, 2, THREE_PEOPLE)],
)
def test_other_settings_give_the_tables_of_the_specification(
    people: int, known_points: int, left: list[str]
) -> None:
    done = thesis_settings(people, known_points).anonymize(TABLE, None)
    assert trajectories(TABLE, done.kept) == left


def test_attacks_find_what_the_specification_counts() -> None:
    done = thesis_settings().anonymize(TABLE, None)
    assert hits(done.input) == (8, 10, 18, 2)
    assert hits(done.after_suppression) == (2, 5, 6, 0)
    assert hits(done.released) == (0, 0, 0, 0)


def test_correlated_records_of_table_4_3_are_found_where_records_are_linked() -> None:
    done = thesis_settings(linked=True).anonymize(TABLE, None)
    assert done.after_suppression.correlated.knowledge == 1
