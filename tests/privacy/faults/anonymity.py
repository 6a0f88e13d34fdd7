"""Plant faults in anonymised windows, which a test must notice."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fugu.operators.anonymity import anonymization
from fugu.operators.anonymity.anonymization import Anonymization, Anonymized
from fugu.operators.anonymity.attacks import Attack, Attacks, attacked
from fugu.operators.anonymity.knowledge import Booleans, Limits, Table
from fugu.operators.anonymity.suppression import Repaired, repaired
from fugu.operators.mechanism import Draws, Integers
from fugu.operators.randomness import DrawScope, Secret
from tests.operators.anonymity import (
    test_anonymization,
    test_suppression,
    test_thesis_tables,
    test_windows,
    thesis,
)
from tests.privacy.faults.planted import InTest, Planted, Replacing

FAMILY = "anonymised windows"


def rows_counted_as_people(
    table: Table, kept: Booleans, categories: Integers, limits: Limits
) -> Repaired:
    """Count the rows that match as if each were another person."""
    alone = replace(table, users=np.arange(len(table)))
    return repaired(alone, kept, categories, limits)


def one_person_less(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Accept crowds of K - 1 people."""
    fewer = replace(limits, people=max(2, limits.people - 1))
    return repaired(table, kept, categories, fewer)


def confidence_of_virtual_values(
    table: Table, kept: Booleans, categories: Integers, limits: Limits
) -> Repaired:
    """Test confidence on one value per person, by which stage 1 groups rows."""
    _, first, whose = np.unique(table.users, return_index=True, return_inverse=True)
    return repaired(table, kept, categories[first[whose]], limits)


def stage_1_alone(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Publish what the thesis's algorithm leaves."""
    return Repaired(kept, ())


def points_one_by_one(
    table: Table, kept: Booleans, categories: Integers, limits: Limits
) -> Repaired:
    """Look at single points, and not at what they say together."""
    return repaired(table, kept, categories, replace(limits, known_points=1))


def links_forgotten(table: Table, kept: Booleans, categories: Integers, limits: Limits) -> Repaired:
    """Take rows that share a key for rows that nobody can link."""
    return repaired(table, kept, categories, replace(limits, linked=False))


def blind_attacks(table: Table, categories: Integers, limits: Limits) -> Attacks:
    """Find nothing, whatever is there."""
    return Attacks(attacked(table, categories, limits).tried, *(Attack(),) * 4)


def attacks_that_count_rows(table: Table, categories: Integers, limits: Limits) -> Attacks:
    """Take two rows of one person for a crowd."""
    return attacked(replace(table, users=np.arange(len(table))), categories, limits)


class RawValues(Anonymization):
    """Release the values of rows as they are."""

    def anonymize(self, table: Table, draws: Draws | None) -> Anonymized:
        done = super().anonymize(table, draws)
        return replace(done, values=table.values[done.rows])


class InOrder(Anonymization):
    """Release rows in the order of the table, which is that of first events."""

    def anonymize(self, table: Table, draws: Draws | None) -> Anonymized:
        done = super().anonymize(table, draws)
        order = np.argsort(done.rows)
        keys = tuple(done.keys[place] for place in order.tolist())
        return replace(done, rows=done.rows[order], keys=keys, values=done.values[order])


class KeysOfPeople(Anonymization):
    """Give a person the same key in every window."""

    def anonymize(self, table: Table, draws: Draws | None) -> Anonymized:
        scope = DrawScope(Secret(bytes(32)), "clinic", "anonymize", 1, bytes(32))
        return super().anonymize(table, scope.draws([b"window"], [b"any"]))


class KeysOfNumbers(Anonymization):
    """Bind keys to the numbers of points and people, and not to what they stand for."""

    def anonymize(self, table: Table, draws: Draws | None) -> Anonymized:
        return super().anonymize(replace(table, meaning=b""), draws)


WITHSTANDS = Replacing(
    test_suppression, "repaired", InTest(test_suppression.test_what_is_left_withstands_every_attack)
)


def _windows(test: Callable[[], None]) -> Replacing:
    return Replacing(thesis, "Anonymization", InTest(test))


def _attacks(test: Callable[[], None]) -> Replacing:
    return Replacing(anonymization, "attacked", InTest(test))


PLANTED = (
    Planted("people counted by rows", repaired, rows_counted_as_people, WITHSTANDS),
    Planted("crowd too small", repaired, one_person_less, WITHSTANDS),
    Planted("confidence of other values", repaired, confidence_of_virtual_values, WITHSTANDS),
    Planted("repair left out", repaired, stage_1_alone, WITHSTANDS),
    Planted("points one by one", repaired, points_one_by_one, WITHSTANDS),
    Planted("links forgotten", repaired, links_forgotten, WITHSTANDS),
    Planted(
        "attacks that find nothing",
        attacked,
        blind_attacks,
        _attacks(test_thesis_tables.test_attacks_find_what_the_specification_counts),
    ),
    Planted(
        "attacks that find nothing",
        attacked,
        attacks_that_count_rows,
        _attacks(test_thesis_tables.test_attacks_find_what_the_specification_counts),
    ),
    Planted(
        "value as it is",
        Anonymization,
        RawValues,
        _windows(test_anonymization.test_only_categories_are_released),
    ),
    Planted(
        "order that shows",
        Anonymization,
        InOrder,
        _windows(
            test_anonymization.test_the_order_of_the_release_says_nothing_of_the_order_of_the_table
        ),
    ),
    Planted(
        "key of a person",
        Anonymization,
        KeysOfPeople,
        _windows(test_anonymization.test_no_key_occurs_twice_in_a_window_or_in_two_windows),
    ),
    Planted(
        "key of other data",
        Anonymization,
        KeysOfNumbers,
        Replacing(
            test_windows,
            "Anonymization",
            InTest(test_windows.test_keys_are_bound_to_what_numbers_stand_for),
        ),
    ),
)
