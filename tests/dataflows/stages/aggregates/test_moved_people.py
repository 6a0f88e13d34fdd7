"""People who move to added partitions count once in each tick, and sums stay exact."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.ticks import CLOSED, StreamTime
from fugu.dataflows.kafka.partitioner import partitions_of
from fugu.dataflows.stages.log_entries import PartitionsMoved, read_entry
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import brought_together
from fugu.dataflows.state.moved_rows import moved_rows
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers
from fugu.operators.personal_cap import PersonalCap
from tests.dataflows.stages.aggregates.exact import (
    GROUPS,
    SECONDS,
    Aggregate,
    Figures,
    Message,
    differences,
)

PEOPLE = 30


class Moving(Aggregate):
    """An aggregate whose source is extended now and then; `log` is what its merge reads."""

    def begin(self) -> None:
        self.log: list[bytes] = []
        self.counted: dict[tuple[str, int], str] = {}

    def home(self, who: str) -> int:
        return int(self._homes([who.encode()])[0])

    def send(self, messages: Sequence[Message], *, at_once: int) -> None:
        """Records where their keys belong now; who counts is noted, by an oracle of single
        records."""
        placed = [(self.home(message[0]), message) for message in messages]
        offsets = list(self.offsets)
        self.log += [one.encoded() for one in self.partials(placed, at_once=at_once)]
        dead = {(partition, offset) for partition, offset, _ in self.dead}
        for partition, (who, when, where, _) in placed:
            if (partition, offsets[partition]) not in dead:
                self.counted[who, when // 1_000] = where
            offsets[partition] += 1

    def extend(self, partitions: int, *, twice: bool) -> None:
        """Move everybody, as a command that is cut short may do twice."""
        before, self.partitions = self.partitions, partitions
        moved = brought_together(self.bounding, dict(enumerate(self.tables)), before, partitions)
        tables = list(moved.tables.values())
        empty = lambda: RowTable(self.bounding.start)  # noqa: E731
        self.tables = moved_rows(tables, self._homes, partitions, empty)
        self.offsets += [0] * (partitions - before)
        self.admission = replace(self.admission, partitions=partitions)
        self.bounding = replace(self.bounding, admission=self.admission)
        cut = len(moved.entries) // 2 if twice else 0
        self.log += moved.entries[:cut] + moved.entries

    def figures(self, *, restarting: bool) -> Figures:
        state, figures = self.merge.start(), Figures()
        for content in self.log:
            for tick, releases in self.merge(state, read_entry(content, "log")):
                assert tick not in figures
                figures[tick] = releases.values[0].tolist()
            if restarting:
                state = self._again(state)
        return figures

    def expected(self, tick: int) -> list[int]:
        zones = [zone for (_, when), zone in self.counted.items() if when == tick]
        return [zones.count(zone) for zone in GROUPS]

    def _homes(self, keys: Sequence[bytes]) -> Integers:
        return partitions_of(keys, self.partitions, "murmur2")


def day(seed: int, first: int, ticks: int) -> list[Message]:
    """Everybody sends about once in a tick, some twice, late or early."""
    random, said = Random(seed), list[tuple[int, Message]]()
    for tick in range(first, first + ticks):
        for person in range(PEOPLE):
            for _ in range(random.choice([0, 1, 1, 2])):
                at = tick * 1_000 + random.randrange(1_000)
                when = max(0, at + random.choice([0] * 8 + [-400, -3_000, 700, 4_000]))
                said.append((at, (f"u{person}", when, random.choice(GROUPS), 1.0)))
    return [message for _, message in sorted(said)]


def run(
    seed: int, *, at_once: int, people: int, twice: bool, victim: str = "", where: str = ""
) -> Moving:
    """Days between which people move; the victim contributes something else, or nothing."""

    def said(turn: int) -> list[Message]:
        messages = day(seed + turn, 10 * turn, 10)
        return [(who, t, where if who == victim else zone, n) for who, t, zone, n in messages]

    ticks = replace(SECONDS, grace=1_500, time=StreamTime(people))
    one = Moving(2, ticks, admission=Admission("murmur2", 2, 1_000))
    one.begin()
    for turn, partitions in enumerate((3, 3, 5, 6)):
        one.send(said(turn), at_once=at_once)
        one.extend(partitions, twice=twice)
    one.send(said(4), at_once=at_once)
    return one


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_everybody_counts_once_in_a_tick_however_often_partitions_are_added(
    seed: int, people: int
) -> None:
    one = run(seed, at_once=1_000, people=people, twice=False)
    figures = one.figures(restarting=False)
    assert len(figures) >= 38
    assert {tick: one.expected(tick) for tick in figures} == figures
    assert sum(map(sum, figures.values())) > 200
    assert max(map(sum, figures.values())) <= PEOPLE


@pytest.mark.parametrize("where", ["west", "nowhere"])
def test_another_contribution_or_none_changes_a_tick_by_two_also_where_people_move(
    where: str,
) -> None:
    """Nobody else's records are refused for it."""
    one = run(4, at_once=1_000, people=2, twice=False)
    other = run(4, at_once=1_000, people=2, twice=False, victim="u7", where=where)
    changes = differences(one.figures(restarting=False), other.figures(restarting=False))
    sizes = [int(np.abs(change).sum()) for change in changes.values()]
    assert max(sizes) == (2 if where == "west" else 1)
    fates = [
        {(part, at) for part, at, reason in run.dead if reason != "outside_domain"}
        for run in (one, other)
    ]
    assert fates[1] <= fates[0]


def test_neither_batches_nor_restarts_nor_a_command_that_was_cut_short_show() -> None:
    whole = run(3, at_once=1_000, people=2, twice=False).figures(restarting=False)
    pieces = run(3, at_once=7, people=2, twice=True).figures(restarting=True)
    assert pieces == whole


def test_the_merge_waits_for_added_partitions_and_not_for_their_past() -> None:
    one = Moving(2, replace(SECONDS, time=StreamTime(1)), admission=Admission("murmur2", 2, 99))
    one.begin()
    one.send(day(1, 0, 8), at_once=100)
    before = one.figures(restarting=False)
    one.extend(4, twice=False)
    moved = read_entry(one.log[-1], "log")
    assert isinstance(moved, PartitionsMoved)
    assert moved.last is not None
    assert max(one.figures(restarting=False)) == moved.last >= max(before)
    news = [(f"u{n}", 20_000, "north", 1.0) for n in range(PEOPLE)]
    only = one.home("u0")
    one.send([said for said in news if one.home(said[0]) == only], at_once=100)
    assert max(one.figures(restarting=False)) == moved.last
    one.send([said for said in news if one.home(said[0]) != only], at_once=100)
    assert max(one.figures(restarting=False)) > moved.last


def test_partitions_that_were_never_begun_begin_together() -> None:
    one = Moving(2, SECONDS, admission=Admission("murmur2", 2, 99))
    one.begin()
    one.extend(3, twice=False)
    assert [read_entry(entry, "log") for entry in one.log] == [PartitionsMoved(3, None)]
    assert [table.clock for table in one.tables] == [{}] * 3
    one.send(day(2, 5, 9), at_once=100)
    figures = one.figures(restarting=False)
    assert figures
    assert {tick: one.expected(tick) for tick in figures} == figures


def test_rows_of_people_who_are_in_no_open_tick_stay_behind() -> None:
    one = Moving(1, SECONDS, admission=Admission("murmur2", 1, 99))
    one.begin()
    one.send([("gone", 0, "north", 1.0), ("here", 9_000, "west", 1.0)], at_once=1)
    one.extend(2, twice=False)
    assert [bytes(key) for table in one.tables for key in table.keys] == [b"here"]
    assert not np.concatenate([table.live("seen") for table in one.tables if len(table)]).min() < 9


def test_a_wrong_clock_that_has_begun_time_does_not_end_everybody_elses_where_people_move() -> None:
    """Nobody told its ticks, so they are not closed in other partitions either."""
    one = one_mover()
    known = [f"u{n}" for n in range(PEOPLE)]
    wrong = next(who for who in known if one.home(who) == 1)
    one.send(
        [(who, t * 1_000, "north", 1.0) for t in range(9) for who in known if one.home(who) == 0],
        at_once=100,
    )
    one.send([(wrong, 3_999_999_999_000, "west", 1.0)], at_once=100)
    one.extend(3, twice=False)
    assert [table.clock[CLOSED] for table in one.tables] == [7] * 3
    one.send([(who, t * 1_000, "south", 1.0) for t in (9, 10) for who in known], at_once=100)
    assert not [reason for *_, reason in one.dead if reason == "late"]
    figures = one.figures(restarting=True)
    assert figures == {tick: one.expected(tick) for tick in figures}
    assert (min(figures), max(figures)) == (0, 9)
    assert sum(figures[9]) == PEOPLE


def test_a_cap_remembers_who_counted_where_a_wrong_clock_has_begun_a_partition() -> None:
    one = one_mover(cap=PersonalCap(at_most=2, ticks=100))
    known = [f"u{n}" for n in range(PEOPLE)]
    one.send(
        [(who, t * 1_000, "north", 1.0) for t in range(9) for who in known if one.home(who) == 0],
        at_once=100,
    )
    wrong = next(who for who in known if one.home(who) == 1)
    one.send([(wrong, 3_999_999_999_000, "west", 1.0)], at_once=100)
    one.extend(3, twice=False)
    one.send([(who, t * 1_000, "south", 1.0) for t in range(9, 40) for who in known], at_once=100)
    figures = one.figures(restarting=False)
    assert max(figures) == 38
    assert sum(map(sum, figures.values())) == 2 * PEOPLE


@pytest.mark.parametrize("begun", [1, 2])
def test_time_may_begin_anew_behind_people_who_move_as_long_as_no_tick_was_told(
    begun: int,
) -> None:
    one = one_mover()
    wrong = [next(f"u{n}" for n in range(9) if one.home(f"u{n}") == home) for home in range(begun)]
    one.send([(who, 3_999_999_999_000, "west", 1.0) for who in wrong], at_once=100)
    one.extend(3, twice=False)
    known = [f"u{n}" for n in range(PEOPLE)]
    one.send([(who, t * 1_000, "south", 1.0) for t in range(9, 20) for who in known], at_once=100)
    assert [table.clock[CLOSED] for table in one.tables] == [18] * 3
    figures = one.figures(restarting=False)
    assert max(figures) == 18
    assert sum(figures[18]) == PEOPLE


def test_what_was_contributed_before_any_tick_closed_moves_with_the_people() -> None:
    one = one_mover()
    known = [f"u{n}" for n in range(PEOPLE)]
    one.send([(who, 5_000, "north", 1.0) for who in known], at_once=100)
    one.extend(3, twice=False)
    one.send([(who, 6_600, "north", 1.0) for who in known], at_once=100)
    assert one.figures(restarting=False) == {5: [PEOPLE, 0, 0]}


@pytest.mark.parametrize("far", [False, True])
def test_partitions_that_have_told_nothing_go_by_the_first_and_those_near_it(far: bool) -> None:
    one = one_mover()
    known = [f"u{n}" for n in range(PEOPLE)]
    homes = {who: one.home(who) for who in known}
    when = [5_000, 3_999_999_999_000 if far else 7_000]
    one.send([(who, when[homes[who]], "north", 1.0) for who in known], at_once=100)
    one.extend(3, twice=False)
    assert [table.clock[CLOSED] for table in one.tables] == [4 if far else 6] * 3
    one.send([(who, 9_000, "south", 1.0) for who in known], at_once=100)
    figures = one.figures(restarting=False)
    first = sum(home == 0 for home in homes.values())
    assert figures[5] == [first, 0, 0]
    assert figures.get(7) == ([0, 0, 0] if far else [PEOPLE - first, 0, 0])


def one_mover(cap: PersonalCap | None = None) -> Moving:
    """Two partitions, in each of which one person moves time."""
    ticks = replace(SECONDS, grace=0)
    one = Moving(2, ticks, admission=Admission("murmur2", 2, 1_000), cap=cap)
    one.begin()
    return one
