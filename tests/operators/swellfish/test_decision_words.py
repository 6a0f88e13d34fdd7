"""Say of a change which policy it is about, and every time from which something holds."""

from dataclasses import replace

import pytest

from fugu.operators.swellfish.changes import AnyChange, Change, MovedKeys, NewCollection
from tests.operators.swellfish.test_lifecycle import HOLIDAY, SHOWER, adds, home
from tests.operators.swellfish.zones import once

NOW = 24 * 12 + 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            Change("home", 0, "shower", None),
            "home/shower is removed from 1970-01-15T07:00Z on; what has begun is protected until "
            "1970-01-15T09:00Z",
        ),
        (
            adds(replace(SHOWER, thresholds=(60,)), removes="shower"),
            "home/shower is added from 1970-01-13T07:00Z on; its first interval begins at "
            "1970-01-25T06:00Z; earlier ones do not count: they overlap an interval that is open "
            "until 1970-01-25T00:00Z; the one that it replaces is removed from 1970-01-25T06:00Z "
            "on",
        ),
        (
            adds(once("sauna", NOW, NOW + 1)),
            "home/sauna is added from 1970-01-13T07:00Z on; nothing is protected by it: it has no "
            "interval left that can count; those that it has overlap an interval that is open "
            "until 1970-01-25T00:00Z",
        ),
        (
            NewCollection("hotel", NOW + 17, (SHOWER,), owner=True, sequence=1),
            "collection hotel, owned, is made from 1970-01-14T00:00Z on; its first interval begins "
            "at 1970-01-14T06:00Z",
        ),
        (NewCollection("hotel", 0, ()), "collection hotel, not owned, is made from 1970-01-13T07:"),
        (MovedKeys("home", 0, ("a", "b")), "2 keys moved to home from 1970-01-15T07:00Z on"),
    ],
    ids=["removed", "replaced", "never", "a collection", "an empty one", "keys"],
)
def test_a_decision_is_told_in_words(change: AnyChange, said: str) -> None:
    timeline = replace(home(SHOWER, HOLIDAY), notice=48)
    assert said in timeline.explained(b"", change.to_bytes(), NOW)
