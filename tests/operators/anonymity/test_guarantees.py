"""The promise of an anonymised window, as data."""

from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

from fugu.operators.anonymity.guarantees import anonymity_guarantee
from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Record, Table
from fugu.operators.guarantee import Guarantee
from tests.operators.anonymity.thesis import thesis_settings


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
