"""The chain of digests: what changes it, and what does not."""

from dataclasses import replace

from fugu.operators.swellfish.calendar import Calendar, Zone
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.strategy import first_digest, next_digest

BEFORE = first_digest(bytes(32))


def change(zone: Zone, theta: int = 5) -> bytes:
    tea = Policy("tea", Calendar(zone, (0, 1), 3600, 7200), 1, (theta,))
    return Change("home", effective=3, removes=None, adds=tea).to_bytes()


def test_another_database_of_time_zones_gives_the_same_digest() -> None:
    berlin = Zone("Europe/Berlin", ((0, 3600),))
    later = replace(berlin, transitions=((0, 3600), (10**9, 7200)))
    assert next_digest(BEFORE, change(berlin), 9) == next_digest(BEFORE, change(later), 9)


def test_zone_threshold_tick_and_what_was_before_give_another_digest() -> None:
    berlin, paris = (Zone(name, ((0, 3600),)) for name in ("Europe/Berlin", "Europe/Paris"))
    digests = {
        next_digest(BEFORE, change(berlin), 9),
        next_digest(BEFORE, change(paris), 9),
        next_digest(BEFORE, change(berlin, theta=6), 9),
        next_digest(BEFORE, change(berlin), 10),
        next_digest(next_digest(BEFORE, change(berlin), 9), change(berlin), 9),
    }
    assert len(digests) == 5
