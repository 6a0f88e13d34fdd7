"""Points are what they are named and numbered, not how they are worded."""

from dataclasses import replace

import pytest

from fugu.operators.points import Point

LONGEST = Point("longest", "no interval has more than {ticks:,} ticks")


def test_other_words_are_the_same_point() -> None:
    reworded = replace(LONGEST, sentence="intervals end after {ticks} ticks")
    assert reworded.of(ticks=7) == LONGEST.of(ticks=7)
    assert hash(reworded) == hash(LONGEST)


def test_another_name_or_number_is_another_point() -> None:
    others = [LONGEST.of(ticks=8), LONGEST.of(ticks=7, bins=1), LONGEST]
    assert LONGEST.of(ticks=7) not in [*others, replace(LONGEST, name="other").of(ticks=7)]


def test_a_number_that_the_sentence_names_is_not_left_out() -> None:
    with pytest.raises(KeyError, match="ticks"):
        str(LONGEST)
