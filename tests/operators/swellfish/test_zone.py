"""Local times that happen twice, or never, make a span longer, and never shorter."""

from itertools import pairwise
from random import Random

import pytest

from fugu.operators.swellfish.calendar import DAY, Zone
from tests.operators.swellfish.zones import BERLIN, HOUR, utc


def random_zone(random: Random, apart: int) -> Zone:
    """Clocks jump by up to a day, `apart` seconds or more apart."""
    second, offset = 0, random.randrange(-12, 13) * HOUR
    transitions = [(second, offset)]
    for _ in range(random.randrange(6)):
        second += apart + random.randrange(DAY)
        offset += random.randrange(-DAY, DAY + 1)
        transitions.append((second, offset))
    return Zone("random", tuple(transitions))


def meant(zone: Zone, local: int) -> set[int]:
    """All instants at which clocks show this, or would if they did not skip it."""
    spans = zip(zone.transitions, [*zone.transitions[1:], (10**12, 0)], strict=True)
    shown = {
        local - offset
        for place, ((since, offset), (until, _)) in enumerate(spans)
        if (place == 0 or since <= local - offset) and local - offset < until
    }
    return shown or {
        local - offset
        for (_, before), (second, after) in pairwise(zone.transitions)
        if second + before <= local < second + after
        for offset in (before, after)
    }


def test_start_is_the_earliest_and_end_the_latest_instant_that_can_be_meant() -> None:
    random = Random(1)
    for _ in range(300):
        zone = random_zone(random, apart=2 * DAY)
        for local in (random.randrange(-DAY, 12 * DAY) for _ in range(40)):
            instants = meant(zone, local)
            assert (zone.earliest(local), zone.latest(local)) == (min(instants), max(instants))


def test_no_span_is_empty_however_wild_clocks_are() -> None:
    random = Random(2)
    for _ in range(300):
        zone = random_zone(random, apart=1)
        for start in (random.randrange(-DAY, 6 * DAY) for _ in range(40)):
            end = start + random.choice([1, HOUR, random.randrange(1, 3 * DAY)])
            assert zone.earliest(start) < zone.latest(end)


def test_berlin_in_spring_and_in_autumn() -> None:
    skipped = utc(2024, 3, 31, 2, 30)
    assert BERLIN.earliest(skipped) == utc(2024, 3, 31, 0, 30)
    assert BERLIN.latest(skipped) == utc(2024, 3, 31, 1, 30)
    twice = utc(2024, 10, 27, 2, 30)
    assert BERLIN.earliest(twice) == utc(2024, 10, 27, 0, 30)
    assert BERLIN.latest(twice) == utc(2024, 10, 27, 1, 30)


@pytest.mark.parametrize(
    ("transitions", "problem"),
    [
        ((), "at least one"),
        (((5, 0), (5, 1)), "in order"),
        (((0, 0), (9, DAY + 1)), "more than a day"),
    ],
)
def test_transitions_that_make_no_sense_are_refused(
    transitions: tuple[tuple[int, int], ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=f"transitions: .*{problem}"):
        Zone("odd", transitions)
