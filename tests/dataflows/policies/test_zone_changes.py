"""Another version of the time zone database: what goes on, and what is refused."""

from itertools import islice
from random import Random

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.zone_changes import moved, require_later, transitions_of
from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.zone import DAY, Zone
from tests.dataflows.policies.documents import EXAMPLE

DOCUMENT = PolicyDocument.read(EXAMPLE)
BEFORE = transitions_of(DOCUMENT.policies.collections)
PER_DAY = DAY * 1000 // DOCUMENT.policies.tick_milliseconds


def without_clock_changes_after(second: int) -> dict[str, list[tuple[int, int]]]:
    [(name, transitions)] = BEFORE.items()
    return {name: [one for one in transitions if one[0] < second]}


CHANGE = next(second for second, _ in BEFORE["Europe/Berlin"] if second > 1_790_000_000)
FIRST_MOVED = CHANGE * 1000 // DOCUMENT.policies.tick_milliseconds


def test_first_second_that_differs_is_found() -> None:
    assert moved(BEFORE, BEFORE) == {}
    assert moved(BEFORE, without_clock_changes_after(CHANGE)) == {"Europe/Berlin": CHANGE}
    assert moved({}, BEFORE) == {}, "the state is of a version that kept no zones"


def test_state_goes_on_only_where_clocks_differ_a_day_after_all_that_is_settled() -> None:
    found = moved(BEFORE, without_clock_changes_after(CHANGE))
    require_later(found, DOCUMENT, FIRST_MOVED - PER_DAY - 1)
    with pytest.raises(StartRefused, match="other clock changes for Europe/Berlin from 2026-10-25"):
        require_later(found, DOCUMENT, FIRST_MOVED - PER_DAY)


@pytest.mark.parametrize("seed", range(20))
def test_spans_that_end_a_day_before_clocks_differ_are_the_same(seed: int) -> None:
    random = Random(seed)
    seconds = sorted(random.sample(range(100, 3_000), 8))
    before = Zone("X", tuple((one * 7_200, random.randrange(-6, 7) * 900) for one in seconds))
    cut = random.randrange(1, 8)
    after = Zone(
        "X",
        (
            *before.transitions[:cut],
            (before.transitions[cut][0] + random.randrange(3) * 3_600, random.randrange(9) * 900),
        ),
    )
    second = before.differs_from(after)
    for start, end in ((random.randrange(DAY), random.randrange(DAY + 1)) for _ in range(20)):
        spans = [
            list(islice(Calendar(zone, tuple(range(7)), start, end).intervals(0, 600_000), 260))
            for zone in (before, after)
        ]
        for one, other in zip(*spans, strict=True):
            settled = max(one[1], other[1])
            if second is None or (settled + 1) * 600 + DAY <= second:
                assert one == other
