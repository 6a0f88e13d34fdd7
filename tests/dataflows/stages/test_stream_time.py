"""People among many records, each once."""

from random import Random

import numpy as np
import pytest

from fugu.dataflows.stages.stream_time import first_of_each, places_of_any
from tests.dataflows.stages.arrays import scattered


@pytest.mark.parametrize("people", [1, 3, 40])
def test_keys_in_an_array_come_up_first_where_they_do_in_a_list(people: int) -> None:
    random = Random(people)
    keys = [b"u" * random.randrange(4) + b"%d" % random.randrange(people) for _ in range(300)]
    places = np.array(random.sample(range(300), 200))
    first = list(first_of_each(keys, places))
    assert list(first_of_each(scattered(keys), places)) == first
    assert [keys[place] for place in first] == [*dict.fromkeys(keys[at] for at in places)]
    assert len(first) >= people


def test_a_few_keys_are_found_in_an_array_as_in_a_list() -> None:
    keys = [b"beat", b"heartbeat", b"bea", b"beau", b"beat", b"b"] * 3
    few = frozenset([b"beat", b"b", b"missing"])
    places = places_of_any(few, keys).tolist()
    assert places_of_any(few, scattered(keys)).tolist() == places
    assert [keys[place] for place in places] == [b"beat", b"beat", b"b"] * 3
    assert not len(places_of_any(frozenset(), scattered(keys)))
    assert not len(places_of_any(few, scattered([])))
