"""One window: what is released, in which order, under which keys, and what is refused."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest

from fugu.operators.anonymity import anonymization
from fugu.operators.anonymity.anonymization import (
    Anonymization,
    Anonymized,
    AttackSucceeded,
    anonymity_guarantee,
)
from fugu.operators.anonymity.knowledge import Infeasible, Limits, Record, Table
from fugu.operators.anonymity.suppression import Repaired
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Draws
from fugu.operators.randomness import DrawScope, Secret, tick_position
from tests.operators.anonymity.random_tables import cases
from tests.operators.anonymity.thesis import TABLE, TAXONOMY, everything, thesis_settings

SCOPE = DrawScope(Secret(bytes(32)), "clinic", "anonymize", 1, thesis_settings().law_digest())


def draws(window: int = 0) -> Draws:
    return SCOPE.draws([b"window"], [tick_position("visits", window)])


def release(window: int = 0, table: Table = TABLE, **settings: Any) -> Anonymized:
    return thesis_settings(**settings).anonymize(table, draws(window))


def test_the_same_window_is_released_under_the_same_keys() -> None:
    first, again = release(), release()
    assert first.keys == again.keys
    assert first.rows.tolist() == again.rows.tolist()


def test_no_key_occurs_twice_in_a_window_or_in_two_windows() -> None:
    keys = [key for window in range(5) for key in release(window).keys]
    assert len(set(keys)) == len(keys) == 5 * 8
    assert {len(key) for key in keys} == {16}


def test_other_content_at_the_same_place_has_other_keys() -> None:
    other = replace(TABLE, values=TABLE.values[::-1].copy())
    assert not set(release(table=other).keys) & set(release().keys)


def test_rows_are_shuffled_and_every_order_is_as_likely() -> None:
    """The first of four rows: 3 degrees of freedom; 21.1 has probability 1e-4."""
    rows = [Record(user, (1,), 2 + 3 * (user % 2)) for user in range(4)]
    runs = 240
    firsts = Counter(
        int(release(window, Table.of(rows), known_points=1).rows[0]) for window in range(runs)
    )
    assert sum((firsts[row] - runs / 4) ** 2 / (runs / 4) for row in range(4)) < 21.1


def test_rows_of_one_person_share_a_key_only_where_rows_are_linked() -> None:
    rows = [Record(user, (1,), 2 + 3 * (user % 2)) for user in (0, 1, 2, 3, 0, 1)]
    for linked in (False, True):
        done = release(table=Table.of(rows), known_points=1, linked=linked)
        by_key: dict[bytes, set[int]] = {}
        for key, row in zip(done.keys, done.rows.tolist(), strict=True):
            by_key.setdefault(key, set()).add(rows[row].user)
        assert len(by_key) == (4 if linked else 6)
        assert all(len(users) == 1 for users in by_key.values())


def test_only_categories_are_released() -> None:
    done = release()
    assert {TAXONOMY.names[value] for value in done.values} == {
        "Virus infection",
        "Bacterial infection",
        "Lung infection",
        "High blood sugar",
    }
    for row, value in zip(done.rows.tolist(), done.values.tolist(), strict=True):
        assert value == TAXONOMY.categories(2)[TABLE.values[row]]


def test_points_are_counted_by_the_reason_of_their_removal() -> None:
    done = release()
    assert done.points_removed == {
        "suppression": 8,
        "support": 2,
        "confidence": 4,
        "correlated": 0,
    }
    assert sum(done.points_removed.values()) == len(TABLE.points) - done.kept.sum()


def test_numbers_of_users_and_points_do_not_matter() -> None:
    """Only which are equal, and their order."""
    renumbered = replace(TABLE, users=900 - 7 * TABLE.users, points=10**9 + 5 * TABLE.points)
    assert release(table=renumbered).kept.tolist() == release().kept.tolist()


def test_an_empty_window_gives_an_empty_release() -> None:
    done = release(table=Table.of([]))
    assert len(done.rows) == len(done.keys) == len(done.kept) == 0
    assert done.input.tried == done.released.hits == 0


def test_rows_without_points_give_an_empty_release() -> None:
    rows = [Record(user, (), 2 + 3 * (user % 2)) for user in range(4)]
    done = release(table=Table.of(rows))
    assert done.dropped.tolist() == [0, 1, 2, 3]
    assert len(done.rows) == 0


def infeasible(rows: list[Record], **settings: Any) -> tuple[str, str]:
    with pytest.raises(Infeasible) as raised:
        release(table=Table.of(rows), **settings)
    return raised.value.reason, raised.value.where


def test_a_window_with_fewer_people_than_k_is_not_released() -> None:
    rows = [Record(user, (1,), 2 + 3 * (user % 2)) for user in (0, 1, 2, 0, 1, 2)]
    assert infeasible(rows, people=4) == ("people", "input")


def test_a_window_with_too_common_a_category_is_not_released() -> None:
    rows = [Record(user, (1,), value) for user, value in enumerate((2, 2, 3, 5))]
    assert infeasible(rows, known_points=1) == ("base-rate", "input")


def test_what_is_left_may_have_too_common_a_category() -> None:
    """Three rows of one category share a point each with one row of another; two have no points."""
    rows = [Record(0, (1,), 2), Record(1, (2,), 2), Record(2, (3,), 2), Record(3, (1, 2, 3), 5)]
    rows += [Record(4, (), 5), Record(5, (), 5)]
    assert infeasible(rows, known_points=1) == ("base-rate", "output")


def test_a_window_with_too_many_sub_trajectories_is_not_begun() -> None:
    """One person with 2,000 points has 1.3 billion sets of three."""
    rows = [Record(user, tuple(range(2_000 - 1_999 * user)), 2 + 3 * user) for user in range(2)]
    assert infeasible(rows, known_points=3) == ("size", "input")


def test_no_attack_succeeds_on_random_tables() -> None:
    released = 0
    for case in cases(seed=7, count=200):
        try:
            done = case.anonymization.anonymize(case.table, None)
        except Infeasible:
            continue
        assert done.released.hits == 0
        released += bool(len(done.rows))
    assert released > 40


def test_a_repair_that_forgets_something_is_never_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anonymization, "repaired", lambda table, kept, *others: Repaired(kept, ()))
    with pytest.raises(AttackSucceeded, match="13 attacks succeed"):
        release()


def test_the_thesis_publishes_what_attacks_succeed_on() -> None:
    done = release(stage="thesis")
    assert done.released == done.after_suppression
    assert done.released.hits == 13


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"people": 1}, "people: K must be at least 2"),
        ({"known_points": 0}, "known_points: rho must be at least 1"),
        ({"privacy_height": 1}, "privacy_height: 1 is below 2; the root says nothing"),
        ({"confidence": Fraction(1)}, "confidence: sigma must lie between 0 and 1"),
        ({"confidence": Fraction(0)}, "confidence: sigma must lie between 0 and 1"),
        ({"confidence": 0.5}, "confidence: sigma must be an exact fraction"),
        ({"confidence": Fraction(1, 10**10)}, "denominator of at most 1,000,000,000"),
        ({"stage": "none"}, "stage: must be repair or thesis"),
    ],
)
def test_parameters_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(thesis_settings(), **changes)


def test_a_value_outside_the_taxonomy_is_refused() -> None:
    with pytest.raises(ValueError, match="a value is not in the taxonomy"):
        release(table=Table.of([Record(0, (1,), 99)]))


def test_a_height_above_the_taxonomy_is_allowed_and_warned_of() -> None:
    settings = Anonymization(TAXONOMY, 4, 2, 1)
    assert settings.warnings == (
        "privacy_height 4 is above the height of the taxonomy, 3: no value is generalised",
    )
    assert thesis_settings().warnings == ()
    assert settings.categories.tolist() == list(range(len(TAXONOMY.names)))


def test_every_parameter_is_in_the_digest_of_the_law() -> None:
    start = thesis_settings()
    changed = [
        start,
        replace(start, people=3),
        replace(start, known_points=1),
        replace(start, confidence=Fraction(2, 5)),
        replace(start, privacy_height=3),
        replace(start, linked=True),
        replace(start, stage="thesis"),
        replace(start, taxonomy=replace(TAXONOMY, names=("All", *TAXONOMY.names[1:]))),
    ]
    assert len({settings.law_digest() for settings in changed}) == len(changed)


def test_the_table_is_not_changed() -> None:
    before = [column.copy() for column in (TABLE.users, TABLE.offsets, TABLE.points, TABLE.values)]
    release()
    after = TABLE.users, TABLE.offsets, TABLE.points, TABLE.values
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    assert everything(TABLE).all()


def test_the_order_of_the_release_says_nothing_of_the_order_of_the_table() -> None:
    orders = [release(window).rows.tolist() for window in range(4)]
    assert all(before != after for before, after in pairwise(orders))


# The promise of an anonymised window, as data.


def promise(**changes: Any) -> Guarantee:
    [guarantee] = thesis_settings(people=3, confidence=Fraction(2, 5), **changes).guarantees()
    return guarantee


def test_the_bounds_are_numbers() -> None:
    guarantee = promise()
    assert dict(guarantee.adversary.numbers) == {"points": 2}
    assert {point.name: dict(point.numbers) for point in guarantee.accounting} == {
        "crowd": {"people": 3},
        "confidence": {"numerator": 2, "denominator": 5},
        "checked-before-publication": {},
    }


def test_no_epsilon_is_promised_and_nothing_composes() -> None:
    guarantee = promise()
    assert guarantee.epsilon == inf
    assert guarantee.composition == "none"
    assert {"no-differential-privacy", "windows", "more-points", "coarser-categories"} <= {
        point.name for point in guarantee.not_covered
    }


def test_it_relies_on_one_key_for_each_person() -> None:
    """Two keys of one person are two people of a crowd, since nothing else tells people apart."""
    assert "one-key-each" in {point.name for point in promise().assumptions}
    settings = thesis_settings(people=4, known_points=1)
    keys = Table.of(Record(user, (1,), value) for user, value in enumerate((2, 5, 2, 5)))
    assert not settings.attacks_on(keys).identity.knowledge
    people = replace(keys, users=keys.users // 2)
    assert settings.attacks_on(people).identity.people == 2


def test_the_thesis_is_not_sound() -> None:
    assert promise().sound
    assert not promise(stage="thesis").sound
    assert "checked-before-publication" not in {
        point.name for point in promise(stage="thesis").accounting
    }


def test_linked_rows_have_a_bound_of_their_own_and_are_promised_less() -> None:
    linked = promise(linked=True)
    assert "linked-crowd" in {point.name for point in linked.accounting}
    assert linked.adversary.name == "known-points-of-one-record"
    assert promise().adversary.name == "known-points"
    assert {point.name for point in linked.not_covered} - {
        point.name for point in promise().not_covered
    } == {"joined-records"}


def test_a_window_is_one_tick_of_its_width() -> None:
    limits = Limits(2, 1, Fraction(1, 2))
    guarantee = anonymity_guarantee(limits, tick_milliseconds=3_600_000)
    assert (guarantee.window, guarantee.tick_milliseconds) == (1, 3_600_000)


def test_every_sentence_can_be_written() -> None:
    guarantee = promise(linked=True)
    sentences = [str(point) for point in (*guarantee.accounting, *guarantee.not_covered)]
    assert "at least 3 different people" in sentences[0]
    assert "2/5" in sentences[1]
