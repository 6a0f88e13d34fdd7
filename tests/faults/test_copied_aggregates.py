"""Copies that bound and copies that merge are killed, and figures are those of one run on disk.

Here they die at points that are chosen. In `make test` they are killed at any (tests/chaos).
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.faults.copied_city import OWNERS, TICKS, USERS, City, Led
from tests.faults.copies import named
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole
from tests.faults.test_aggregate_crashes import ZONES, trips
from tests.faults.test_asked_users import OPERATOR as ASKED
from tests.faults.test_capped_totals_crashes import DISTRICTS, rentals
from tests.faults.test_capped_totals_crashes import OPERATOR as CAPPED
from tests.faults.test_capped_totals_crashes import TICKS as RENTALS_TICKS
from tests.kafka.pipelines import PATIENCE_SECONDS, running, write_pipeline
from tests.kafka.topics import TopicFactory

KILLS = 6
RENTED = Whole(RENTALS_TICKS * len(DISTRICTS), 0, RENTALS_TICKS * PARTITIONS)
IN_A_CUT = {"positions sent, no commit": 6}
"""Points of `killed_inside`, and at which of their occurrences."""
IN_A_MERGE = {"a figure made, not written": 4}
PARTS = 120
EARLY = 40
"""So many parts are there before a copy is; others come one by one."""


def moving(bootstrap: str, topics: TopicFactory, parts: int) -> City:
    return City.moving(bootstrap, topics, parts)


def capped(bootstrap: str, topics: TopicFactory, parts: int) -> City:
    """Everybody counts in three ticks of each ten."""
    return City.of(bootstrap, topics, rentals(), CAPPED, RENTED, parts)


def totals(bootstrap: str, topics: TopicFactory, parts: int) -> City:
    """Everybody counts in all ticks, and the totals end before these do."""
    operator = CAPPED | {"horizon": RENTALS_TICKS - 2}
    del operator["contributions"]
    return City.of(bootstrap, topics, rentals(), operator, RENTED, parts)


def reports(bootstrap: str, topics: TopicFactory, parts: int) -> City:
    """Everybody reports at ticks that are fixed, with noise of their own."""
    placed, late = trips(USERS, TICKS)
    whole = Whole((TICKS - 1) * len(ZONES), late, (TICKS - 1) * PARTITIONS)
    operator = ASKED | {"kind": "lpu"}
    return City.of(bootstrap, topics, placed, operator, whole, parts)


@pytest.mark.acceptance
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    "make_city", [moving, capped, totals, reports], ids=lambda make: make.__name__
)
def test_copies_that_die_at_random_points_leave_the_figures_of_one_run(
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    make_city: Callable[[str, TopicFactory, int], City],
) -> None:
    city = make_city(bootstrap, topics, KILLS + 1)
    copies, random = Led(write_pipeline(tmp_path / "copied", city.copied), Random(26)), Random(27)
    with running(write_pipeline(tmp_path / "disk", city.on_disk)) as alone, closing(copies):
        for merges in (False, True, False, True):
            copies.add(merges=merges)
        for part in range(KILLS):
            city.produce(part)
            copies.until(copies.are_all_owned, cuts=0.05)
            for _ in range(random.randrange(10, 60)):
                copies.lead(cuts=0.05)
            owners = [copy for copy in copies.running if copy.owned]
            wanted = [one for one in owners if one.plan.reads_source == bool(part % 2)]
            copies.kill(random.choice(wanted))
        city.produce(KILLS)
        copies.until(copies.are_all_owned, cuts=0.05)
        copies.until(lambda: random.random() < 0.02 and city.is_done(), cuts=0.2)
        assert copies.deaths == KILLS
        assert copies.planned.state.topic.partitions == OWNERS
        assert alone.stop() == 0, alone.stderr
    city.require_one_run()


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("points", "processes"), [(IN_A_CUT, 1), (IN_A_MERGE | IN_A_CUT, 3)], ids=["one", "two"]
)
def test_processes_killed_in_a_merge_and_in_a_cut_leave_the_figures_of_one_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, points: dict[str, int], processes: int
) -> None:
    """Records come whenever one owns something: who has nothing to commit dies in no commit."""
    city = City.moving(bootstrap, topics, parts=PARTS)
    here = write_pipeline(tmp_path / "copied", city.copied)
    rest = iter(range(PARTS))
    with ExitStack() as stack:
        alone = stack.enter_context(running(write_pipeline(tmp_path / "disk", city.on_disk)))
        for part in islice(rest, EARLY):
            city.produce(part)
        doomed = [
            stack.enter_context(running(here, killed=(point, occurrence)))
            for point, occurrence in points.items()
        ]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while living := [one for one in doomed if one.process.poll() is None]:
            assert time.monotonic() < deadline, [one.stderr for one in doomed]
            if any("taken over" in one.stderr for one in living):
                city.produce(next(rest))
            time.sleep(0.2)
        assert [one.exit_code() for one in doomed] == [-signal.SIGKILL] * len(points)
        with named("pod"):
            last = [stack.enter_context(running(here))]
            if processes > 1:
                supervised = running(here, "--processes", str(processes - 1))
                last.append(stack.enter_context(supervised))
        for part in rest:
            city.produce(part)
        last[0].wait_until(city.is_done)
        assert [one.stop() for one in last] == [0] * len(last), [one.stderr for one in last]
        assert alone.stop() == 0, alone.stderr
    city.require_one_run()
