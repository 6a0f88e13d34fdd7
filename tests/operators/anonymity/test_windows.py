"""Windows are released one after the other, each by itself."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import Record, Table
from fugu.operators.anonymity.suppression import Taxonomy
from fugu.operators.anonymity.windows import (
    AnonymizedWindows,
    read_table,
    released_rows,
    written_table,
)
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret, tick_position
from tests.conformance.example import Example, Examples, Unusable

TAXONOMY = Taxonomy.from_tree(
    {"Disease": {"Virus": ["Dengue", "H1N1"], "Bacteria": ["Cholera"], "Lung": ["Asthma"]}}
)
LEAVES = [TAXONOMY.index(name) for name in ("Dengue", "H1N1", "Cholera", "Asthma")]


def crowd(seed: int, people: int = 24, *, twice: int = 0) -> Table:
    """People on few ways; so many have a second record with another value."""
    random = Random(seed)
    rows = [
        Record(
            who % people,
            tuple(sorted({4 * hour + random.randrange(2) for hour in random.sample(range(6), 3)})),
            LEAVES[(who + who // people) % 4],
        )
        for who in range(people + twice)
    ]
    return Table.of(rows)


PAYLOADS = np.array([written_table(crowd(seed)) for seed in range(3)], dtype=object)


def _examples(kind: type[Any]) -> tuple[Example, ...]:
    anonymizations = (
        Anonymization(TAXONOMY, 2, people=2, known_points=2),
        Anonymization(TAXONOMY, 3, people=3, known_points=1, confidence=Fraction(2, 5)),
        Anonymization(TAXONOMY, 2, people=2, known_points=1, linked=True),
    )
    return tuple(Example(kind(one, min_people=6), PAYLOADS) for one in anonymizations)


EXAMPLES: Examples = {AnonymizedWindows: _examples}
UNUSABLE: Unusable = {AnonymizedWindows: {"min_people": (0, 1, -1, 2.5)}}


def step(windows: AnonymizedWindows, *payloads: bytes | None) -> tuple[list[Any], list[int]]:
    scope = DrawScope(Secret(bytes(32)), "patients", "anonymize", 1, windows.law_digest())
    positions = [tick_position("topic", tick) for tick in range(len(payloads))]
    draws = scope.draws([b"windows"] * len(payloads), positions)
    _, releases = windows.step({}, Inputs(np.array(payloads, dtype=object)), draws)
    assert releases.kinds is not None
    return releases.values.tolist(), releases.kinds.tolist()


def test_a_table_goes_through_a_payload() -> None:
    table = crowd(1)
    again = read_table(written_table(table))
    for name in ("users", "offsets", "points", "values"):
        assert getattr(again, name).tolist() == getattr(table, name).tolist()
    told = replace(table, meaning=b"streets")
    assert read_table(written_table(told)).meaning == told.meaning


def test_a_window_is_released_with_categories_and_true_points() -> None:
    table = crowd(1)
    windows = AnonymizedWindows(Anonymization(TAXONOMY, 2, 2, 2), min_people=6)
    [payload], [kind] = step(windows, PAYLOADS[1])
    assert kind == Kind.FRESH
    rows = released_rows(payload)
    assert {TAXONOMY.names[row.category] for row in rows} <= {"Virus", "Bacteria", "Lung"}
    there = [set(table.trajectory(row).tolist()) for row in range(len(table))]
    assert all(any(set(row.points) <= points for points in there) for row in rows)
    assert len({row.key for row in rows}) == len(rows)


def test_keys_are_bound_to_what_numbers_stand_for() -> None:
    """Tables of one shape about other places or people are other data."""
    windows = AnonymizedWindows(Anonymization(TAXONOMY, 2, 2, 2), min_people=6)
    keys = []
    for meaning in (b"streets", b"houses", b""):
        [payload], _ = step(windows, written_table(replace(crowd(1), meaning=meaning)))
        keys.append({row.key for row in released_rows(payload)})
    assert keys[0]
    assert not keys[0] & keys[1]
    assert not keys[2] & (keys[0] | keys[1])


def test_quantum_and_width_are_part_of_the_law() -> None:
    anonymization = Anonymization(TAXONOMY, 2, 2, 2)
    laws = [
        AnonymizedWindows(anonymization, 6, width, quantum).law_digest()
        for width in (None, 1_000, 2_000)
        for quantum in (None, 100, 200)
    ]
    assert len(set(laws)) == 9


def test_too_few_people_nobody_and_one_category_release_nothing() -> None:
    windows = AnonymizedWindows(Anonymization(TAXONOMY, 2, 2, 1), min_people=6)
    few = written_table(crowd(1, people=5))
    same = written_table(Table.of([Record(who, (1,), LEAVES[0]) for who in range(10)]))
    empty = written_table(Table.of([]))
    values, kinds = step(windows, few, None, same, empty)
    assert values == [None] * 4
    assert kinds == [Kind.SUPPRESSED] * 4


def test_linked_rows_of_a_person_have_one_key_in_a_window_and_another_in_the_next() -> None:
    windows = AnonymizedWindows(Anonymization(TAXONOMY, 2, 2, 1, linked=True), min_people=6)
    payload = written_table(crowd(1, twice=24))
    [one, other], _ = step(windows, payload, payload)
    keys = [[row.key for row in released_rows(release)] for release in (one, other)]
    assert all(len(set(some)) < len(some) for some in keys)
    assert not set(keys[0]) & set(keys[1])


def test_a_window_needs_as_many_people_as_the_crowd() -> None:
    with pytest.raises(ValueError, match=r"min_people: .* at least K, 5"):
        AnonymizedWindows(Anonymization(TAXONOMY, 2, people=5, known_points=1), min_people=4)
