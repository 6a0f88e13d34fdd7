"""From records to counts by private reports: nothing depends on who was faster."""

from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.stages.log_entries import Asking, PartialSums, read_entry
from fugu.dataflows.stages.private_reports import REPORTED
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_block import written
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget_units import units_of
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.reporting import Instruction
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationDistribution,
    CollectedPopulationUniform,
)
from tests.dataflows.stages.collected.survey import GROUPS, Message, Survey, batches
from tests.operators.ldp_ids.rounds import KINDS

USERS, TICKS = 60, 14


def city(seed: int = 1, users: int = USERS) -> list[tuple[int, Message]]:
    """Readings out of order, some late and some far ahead, of users of two partitions."""
    random, timed = Random(seed), []
    for tick in range(TICKS):
        for user in range(users):
            for _ in range(random.choice([0, 1, 1, 3])):
                when = tick * 1000 + random.randrange(1000)
                shift = random.choice([0] * 60 + [-4_000, 50_000])
                zone = GROUPS[(user + tick // 4) % 3]
                message = f"u{user}", max(0, when + shift), zone
                timed.append((when + random.randrange(450), user % 2, message))
    return [(where, message) for _, where, message in sorted(timed)]


@pytest.mark.parametrize("kind", KINDS)
def test_how_records_are_cut_and_restarts_never_show(kind: type[Collector]) -> None:
    mechanism, messages = kind(3, window=3, epsilon=6.0), city()
    whole = Survey(mechanism)
    whole.feed(batches(messages, 10_000))
    assert len(whole.figures) > TICKS - 2
    cut = Survey(mechanism)
    cut.feed(batches(messages, 7))
    assert cut.figures == whole.figures
    assert sorted(cut.dead) == sorted(whole.dead)
    assert sorted(cut.log) == sorted(whole.log)
    again, parts = Survey(mechanism), batches(messages, 90)
    for number, part in enumerate(parts):
        again.feed([part])
        if number % 3 == 0:
            again.restart(parts[: number + 1])
            again.settle()
    assert again.figures == whole.figures
    assert sorted(again.dead) == sorted(whole.dead)


def test_a_partition_waits_until_all_have_told_the_tick_before() -> None:
    """The second partition is silent at first: the other one reports one tick, and no more."""
    survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=6.0))
    first, second = (
        [(part, (f"u{part}", tick * 1000 + 500, "north")) for tick in range(9)] for part in (0, 1)
    )
    survey.feed(batches(first, 100))
    assert len(survey.log) == 1
    assert survey.held[0]
    survey.feed(batches(second, 100))
    assert not survey.held[0]
    assert len(survey.figures) >= 6


def test_the_log_holds_reports_and_no_true_counts() -> None:
    """With so little budget, what is told is nearly independent of what is true."""
    told = []
    for zone in ("north", "south"):
        survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=0.01), partitions=1)
        people = [(0, (f"u{user}", tick * 1000, zone)) for tick in range(4) for user in range(300)]
        survey.feed(batches(people, 10_000))
        sums = [one for one in map(_read, survey.log) if isinstance(one, PartialSums)]
        tally = np.zeros(9, dtype=int)
        tally[sums[1].groups] = sums[1].sums
        assert tally[:2].tolist() == [300, 300]
        told.append(tally[3:6])
    assert all(np.abs(one - 150).max() < 60 for one in told)


def test_what_is_asked_twice_or_too_much_costs_nobody_more() -> None:
    """Somebody else writes into the log before the collector does."""
    survey = Survey(CollectedBudgetDistribution(3, window=2, epsilon=1.0), partitions=1)
    for tick in range(-1, 12):
        for amount in (2**59, units_of(0.25), units_of(0.5)):
            survey.stage.hear(survey.tables[0], Asking(tick, Instruction(amount)))
    people = [(0, (f"u{user}", tick * 1000, "north")) for tick in range(8) for user in range(5)]
    survey.held[0].extend(map(survey.codec.decode, batches(people, 1_000)))
    made, left, _ = survey.stage.advance(survey.held[0].popleft(), survey.tables[0])
    assert left is None
    published = [one for one in made.partials if 2 in one.groups.tolist()]
    assert published == [], "the first one counts, which asks for too much at every tick"


def test_another_writer_stops_the_collector() -> None:
    survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=6.0), partitions=1)
    people = [(0, (f"u{user}", tick * 1000, "north")) for tick in range(6) for user in range(9)]
    survey.feed(batches(people, 1_000))
    following = survey.state.progress.following
    assert following is not None
    with pytest.raises(FuguError, match="something else writes to its internal log"):
        survey.write(Asking(following, Instruction(units_of(3.0))).encoded())


@pytest.mark.parametrize("ahead", [1, 5, 1_000_000])
def test_another_writer_who_asks_early_stops_the_collector(ahead: int) -> None:
    """Users report within what was asked first, and the collector would correct for its own."""
    survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=6.0), partitions=1)
    people = [(0, (f"u{user}", tick * 1000, "north")) for tick in range(6) for user in range(9)]
    survey.feed(batches(people, 1_000))
    following, figures = survey.state.progress.following, dict(survey.figures)
    assert following is not None
    with pytest.raises(FuguError, match="something else writes to its internal log"):
        survey.write(Asking(following + ahead, Instruction(12_345_678)).encoded())
    assert survey.figures == figures


def test_another_writer_who_asks_before_anything_is_told_stops_the_collector() -> None:
    survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=6.0))
    with pytest.raises(FuguError, match="something else writes to its internal log"):
        survey.write(Asking(0, Instruction(12_345_678)).encoded())


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_collector_asked_is_its_own_wherever_it_restarts(kind: type[Collector]) -> None:
    """The log holds what it asked before it stopped, and a second time what it asks again."""
    survey = Survey(kind(3, window=3, epsilon=6.0))
    survey.feed(batches(city(), 50))
    log, merge = list(survey.log), survey.merge
    state, written_again = merge.start(), list[bytes]()
    figures: dict[int, list[float]] = {}
    for entry in log:
        state = merge.restored(state.encoded(), lambda _, sums=state.open: sums)  # type: ignore[misc]
        for tick, releases in merge(state, read_entry(entry, "log")):
            figures[tick] = releases.values[0].tolist()
        state.asked = None
        if (asking := merge.asking(state)) is not None:
            written_again.append(asking.encoded())
    assert figures == survey.figures
    asked = {entry for entry in log if isinstance(_read(entry), Asking)}
    assert asked <= set(written_again)
    for entry in written_again:
        assert not list(merge(state, read_entry(entry, "log")))


def test_a_partition_that_goes_back_needs_what_was_asked_far_ahead_of_it() -> None:
    """It hears at once all that the log asks of ticks whose records it has yet to read again."""
    survey = Survey(CollectedBudgetDistribution(3, window=3, epsilon=6.0), partitions=1)
    people = batches(
        [(0, (f"u{user}", 1000 * tick, "north")) for tick in range(20) for user in range(9)], 9
    )
    survey.feed(people[:3])
    early = RowTable(survey.stage.start)
    early.apply(survey.tables[0].take_everything())
    survey.feed(people[3:])
    told = [one for one in map(_read, survey.log) if isinstance(one, PartialSums)]
    for one in map(_read, survey.log):
        if isinstance(one, Asking):
            survey.stage.hear(early, one)
    again: list[PartialSums] = []
    for one in people:
        made, left, _ = survey.stage.advance(survey.codec.decode(one), early)
        assert left is None
        again += made.partials
    assert len(again) > 15
    assert [one.encoded() for one in again] == [one.encoded() for one in told[-len(again) :]]


@pytest.mark.parametrize("asked", [[1], [1, "2"], [1.5, 0], [2**61, 0]])
def test_an_entry_that_asks_nothing_sensible_is_refused(asked: list[object]) -> None:
    entry = written({"asking": 7, "instruction": asked}, [])
    with pytest.raises(FuguError, match="was not written by this pipeline"):
        read_entry(entry, "offset 3")


def test_a_row_is_kept_while_its_user_has_reported_in_the_window() -> None:
    """A key that comes back would have a whole budget in the same window."""
    mechanism = CollectedPopulationUniform(3, window=5, epsilon=1.0)
    survey = Survey(mechanism, partitions=1, admission=Admission("unchecked", 1, 40))
    people = [
        (0, (f"u{40 * tick + user}", tick * 1000, "north"))
        for tick in range(9)
        for user in range(40)
    ]
    survey.feed(batches(people, 1_000))
    reported = survey.tables[0].live("reported")
    assert survey.tables[0].clock[REPORTED] >= 6
    assert len(survey.tables[0]) == 40
    refused = [reason for *_, reason in survey.dead]
    assert 0 < refused.count("too_many_keys") < len(people) - 40
    assert (reported > -(2**62)).any()


@pytest.mark.parametrize("kind", [CollectedPopulationDistribution, CollectedPopulationUniform])
def test_nobody_reports_twice_in_a_window(kind: type[Collector]) -> None:
    """Follow the last report of everybody over the run."""
    survey = Survey(kind(3, window=4, epsilon=8.0), partitions=1)
    people = [
        (0, (f"u{user}", tick * 1000, GROUPS[tick // 3 % 3]))
        for tick in range(24)
        for user in range(50)
    ]
    last: dict[bytes, int] = {}
    reports = 0
    for part in batches(people, 50):
        survey.feed([part])
        table = survey.tables[0]
        if "reported" not in table.columns:
            continue
        for key, tick in zip(table.keys, table.live("reported").tolist(), strict=True):
            if tick > -(2**62) and tick != last.get(key):
                assert tick - last.get(key, -100) >= 4
                last[key], reports = tick, reports + 1
    assert reports > 100


def test_unknown_groups_become_dead_letters_and_the_latest_record_counts() -> None:
    survey = Survey(CollectedBudgetAbsorption(3, window=1, epsilon=20.0), partitions=1)
    people = [(0, (f"u{user}", tick * 1000, "north")) for tick in range(6) for user in range(30)]
    people[31:31] = [(0, ("u0", 1000, "nowhere")), (0, ("u0", 1000, "south"))]
    survey.feed(batches(people, 1_000))
    assert [reason for *_, reason in survey.dead] == ["outside_domain"]
    entries = map(_read, survey.log)
    present = [one.sums[0] for one in entries if isinstance(one, PartialSums) and len(one.groups)]
    assert set(present) == {30}


def _read(entry: bytes) -> object:
    return read_entry(entry, "log")
