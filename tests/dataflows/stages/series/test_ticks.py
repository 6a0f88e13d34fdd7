"""Series over ticks of event time: what is measured, what is predicted, and what is spent."""

from collections.abc import Iterable
from math import sin
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import tick_position
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from tests.dataflows.stages.running import Message, Running
from tests.dataflows.stages.series.running import message, operator, pipeline_file, running, said_by

GRACE = {"grace": "500ms"}


def disordered(users: int, steps: int) -> list[Message]:
    """Nine of ten readings are there, up to 400 ms late, and some much later, or far ahead."""
    random, timed = Random(4), []
    for step in range(10, 10 + steps):
        for user in range(users):
            if random.random() < 0.9:
                at = step * 1000 + random.randrange(1000)
                shift = random.choice([0] * 40 + [-3_000, 60_000])
                reading = message(f"u{user}", at + shift, random.uniform(30, 200))
                timed.append((at + random.randrange(400), reading))
    return [record for _, record in sorted(timed, key=lambda entry: entry[0])]


def readings(users: str, seconds: Iterable[int], value: float = 70) -> list[Message]:
    """Everybody's, second by second."""
    return [message(user, second * 1000, value) for second in seconds for user in users]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_how_records_are_cut_into_batches_never_shows(at_once: int, tmp_path: Path) -> None:
    messages = disordered(users=9, steps=40)
    whole = running(tmp_path, GRACE).feed(messages)
    cut = running(tmp_path, GRACE).feed(messages, at_once=at_once)
    assert cut.releases == whole.releases
    assert cut.dead == whole.dead
    assert {reason for _, reason, _ in whole.dead} == {"late", "too_far_ahead"}
    assert len({headers for _, _, headers, _ in whole.releases}) == len(whole.releases) > 300


def test_a_state_that_was_written_and_read_goes_on_the_same(tmp_path: Path) -> None:
    messages = disordered(users=5, steps=40)
    whole, restarted = running(tmp_path, GRACE).feed(messages), running(tmp_path, GRACE)
    for start in range(0, len(messages), 20):
        restarted.feed(messages[start : start + 20])
        restarted.restart()
    assert restarted.releases == whole.releases
    spent = whole.memory.table.column("spent").tolist()
    assert restarted.memory.table.column("spent").tolist() == spent
    assert min(spent) > 0


def test_a_stream_is_what_the_mechanism_makes_of_its_numbers_alone(tmp_path: Path) -> None:
    """In every tick, whatever other streams do, a measurement of a number or a prediction."""
    random = Random(1)
    numbers = [random.choice([None, random.randrange(40, 181)]) for _ in range(40)]
    own = [[message("a", s * 1000, n)] if n else [] for s, n in enumerate(numbers)]
    others = [readings("b", [s]) for s in range(40)]
    run = running(tmp_path)
    run.feed([record for pair in zip(others, own, strict=True) for part in pair for record in part])
    mechanism, first = run.memory.stage.mechanism, next(s for s, n in enumerate(numbers) if n)
    assert isinstance(mechanism, LocalRealTimeRelease)
    state, expected = mechanism.start(1), []
    for second in range(first, 39):
        number = numbers[second]
        draws = run.memory.stage.scope.draws([b"a"], [tick_position("raw", second, partition=0)])
        if number is None:
            state, releases = mechanism.skip(state)
        else:
            state, releases = mechanism.step(state, Inputs(np.array([number])), draws)
        expected.append(
            (round(releases.values[0].item(), 4), ["predicted", "measured"][number is not None])
        )
    told = said_by(run, "a")
    assert [(one["value"], one["status"]) for one in told] == expected
    assert [one["second"] for one in told] == list(range(first + 1, 40))
    assert {status for _, status in expected} == {"measured", "predicted"}


def test_budgets_of_streams_are_their_own(tmp_path: Path) -> None:
    messages = [m for s in range(30) for m in readings("a" if s % 3 else "ab", [s])]
    run = running(tmp_path).feed(messages)
    for user, numbers in (("a", 29), ("b", 10)):
        told = said_by(run, user)
        assert [one["status"] for one in told].count("measured") == numbers
        assert told[-1]["spent_rho"] == pytest.approx(numbers * told[0]["spent_rho"], rel=1e-5)


def test_without_budget_predictions_are_published_and_nothing_more_is_spent(
    tmp_path: Path,
) -> None:
    told = said_by(running(tmp_path, horizon=5).feed(readings("a", range(20))), "a")
    assert [one["status"] for one in told] == ["measured"] * 5 + ["predicted"] * 14
    assert [one["budget_exhausted"] for one in told] == [False] * 5 + [True] * 14
    assert len({one["spent_rho"] for one in told[4:]}) == 1
    assert told[-1]["remaining_rho"] < told[0]["spent_rho"]


def test_a_period_brings_a_new_budget(tmp_path: Path) -> None:
    run = running(tmp_path, horizon=None, period=5).feed(readings("a", range(16)))
    spent = [one["spent_rho"] for one in said_by(run, "a")]
    assert spent[:5] == spent[5:10] == spent[10:15]


@pytest.mark.parametrize(
    ("several", "counts", "dead"), [("last", 180, 0), ("first", 40, 0), ("error", 40, 2)]
)
def test_of_several_records_in_a_tick_one_counts(
    several: str, counts: int, dead: int, tmp_path: Path
) -> None:
    ticks = {"several": several}
    records = [message("a", at, value) for at, value in enumerate([40, 100, 180])]
    run = running(tmp_path, ticks).feed([*records, message("a", 1_000)])
    alone = running(tmp_path, ticks).feed([message("a", 0, counts), message("a", 1_000)])
    assert run.releases == alone.releases
    assert len(run.releases) == 1
    assert [reason for _, reason, _ in run.dead] == ["second_in_tick"] * dead


def test_late_records_change_nothing(tmp_path: Path) -> None:
    messages = readings("a", range(10))
    with_late = running(tmp_path).feed([*messages, message("a", 7_000, 180), message("a", 12_000)])
    without = running(tmp_path).feed([*messages, message("a", 12_000)])
    assert with_late.releases == without.releases
    assert with_late.dead == [(10, "late", "")]


def test_numbers_beyond_the_range_count_as_its_border(tmp_path: Path) -> None:
    def told(low: float, high: float) -> list[dict[str, Any]]:
        messages = [message("a", s * 1000, (low, high)[s % 2]) for s in range(9)]
        return said_by(running(tmp_path).feed(messages), "a")

    assert told(-1e30, 9_999) == told(40, 180)


def test_a_stream_without_records_pauses_and_goes_on_with_the_next_one(tmp_path: Path) -> None:
    """As if there had been no ticks in between, but for the words that noise is drawn from."""
    run = running(tmp_path, horizon=30)
    run.feed([*readings("a", range(10)), *readings("b", range(10, 60))])
    before = said_by(run, "a")
    assert [one["status"] for one in before] == ["measured"] * 10 + ["predicted"] * 20
    run.restart()
    run.feed(readings("a", range(60, 100)))
    after = said_by(run, "a")[len(before) :]
    assert [one["second"] for one in after] == list(range(61, 100))
    assert [one["status"] for one in after] == ["measured"] * 20 + ["predicted"] * 19
    assert after[0]["spent_rho"] == pytest.approx(before[-1]["spent_rho"] * 1.1, rel=1e-5)
    assert not run.dead


@pytest.mark.parametrize("place", [6, 9])
def test_a_pause_depends_on_ticks_and_not_on_when_their_records_arrive(
    place: int, tmp_path: Path
) -> None:
    others = readings("b", range(1, 20))
    run = running(tmp_path, {"idle": 3, "grace": "5s"})
    run.feed([message("a", 0), *others[:place], message("a", 5_500), *others[place:]])
    assert [one["second"] for one in said_by(run, "a")] == [1, 2, 3, 4, 6, 7, 8, 9]


def test_estimates_are_near_and_their_bars_hold_the_truth(tmp_path: Path) -> None:
    values = [100 + 30 * sin(s / 15) for s in range(90)]
    run = running(tmp_path, epsilon=20.0).feed(
        [message(f"u{u}", s * 1000, v) for s, v in enumerate(values) for u in range(20)]
    )
    told = [(one, values[one["second"] - 1]) for u in range(20) for one in said_by(run, f"u{u}")]
    errors = np.array([one["value"] - truth for one, truth in told])
    bars = np.array([1.96 * one["standard_error"] for one, _ in told])
    assert (np.abs(errors) <= bars).mean() >= 0.95
    mechanism = run.memory.stage.mechanism
    assert isinstance(mechanism, LocalRealTimeRelease)
    assert np.sqrt((errors**2).mean()) < mechanism.series.noise_deviation


def test_presentation_in_units(tmp_path: Path) -> None:
    run = running(tmp_path, unit=0.5, presentation="integer").feed(readings("a", range(9)))
    assert all(value.split(b",")[0][-2:] in (b".0", b".5") for _, value, *_ in run.releases)
    negative = running(tmp_path, lower=-100, upper=0, epsilon=1.0, presentation="non_negative")
    users = "abcdefgh"
    negative.feed(readings(users, range(20), value=-100))
    assert min(one["value"] for user in users for one in said_by(negative, user)) == 0.0


def test_a_standard_error_is_null_until_it_is_known(tmp_path: Path) -> None:
    told = said_by(running(tmp_path).feed([message("a", 0), message("b", 5_000)]), "a")
    assert [one["status"] for one in told] == ["measured", *["predicted"] * 4]
    assert [one["standard_error"] is None for one in told] == [False, True, True, True, True]
    assert len({one["value"] for one in told}) == 1


def test_a_user_in_two_partitions_has_independent_noise_and_other_release_ids(
    tmp_path: Path,
) -> None:
    """With `partitioner: unchecked`: that releases are equal must not show that numbers are."""
    file = pipeline_file(tmp_path, {"operator": operator()})
    here, there = (
        Running(file, partition=partition).feed(readings("a", range(60))) for partition in (0, 1)
    )
    estimates = [[one["value"] for one in said_by(run, "a")] for run in (here, there)]
    equal = sum(one == other for one, other in zip(*estimates, strict=True))
    assert len(estimates[0]) == 59
    assert equal <= 1
    names = [{headers[0] for *_, headers, _ in run.releases} for run in (here, there)]
    assert len(names[0] | names[1]) == 2 * 59


def test_whether_a_number_is_valid_moves_no_time_and_admits_nobody(tmp_path: Path) -> None:
    """A refused record closes ticks and takes a row, as any other of its person and time."""
    runs = [
        running(tmp_path, {"stream_time": {"distinct_keys": 2}}).feed(
            [
                *readings("abcd", range(3)),
                *[message("x", second * 1_000, value) for second in (4, 5) for _ in range(2)],
                *readings("abc", [3, 4, 5, 6]),
            ]
        )
        for value in (70, 10**9, "seventy", None)
    ]
    for run in runs[1:]:
        for user in "abcd":
            assert said_by(run, user) == said_by(runs[0], user)
        assert len(run.memory.table) == len(runs[0].memory.table)
    assert [reason for _, reason, _ in runs[2].dead][1:5] == ["wrong_type"] * 4


def test_a_stream_that_is_ahead_of_stream_time_says_it_when_time_comes_there(
    tmp_path: Path,
) -> None:
    run = running(tmp_path, {"stream_time": {"distinct_keys": 2}})
    run.feed([message("a", 0), message("b", 0), message("a", 9_500, 90), message("a", 9_600, 91)])
    run.feed([message("a", 8_000), message("b", 20_000)])
    assert [reason for _, reason, _ in run.dead] == ["time_not_begun", "too_far_ahead"]
    run.feed([message("c", 21_000)])
    status = {one["second"]: one["status"] for one in said_by(run, "a")}
    assert status == {10: "measured", **dict.fromkeys(range(11, 21), "predicted")}


@pytest.mark.parametrize("at_once", [1, 100])
def test_values_of_a_wrong_time_are_dropped_when_time_begins_anew(
    at_once: int, tmp_path: Path
) -> None:
    """A year ahead, and first: it would make all others late for a year."""
    wrong = [message("odd", 3 * 10**10), message("b", 3 * 10**10 + 500)]
    alone = {"stream_time": {"distinct_keys": 1, "max_ahead": "36500d"}}
    run = running(tmp_path, alone).feed([*wrong, *readings("ab", range(9))], at_once=at_once)
    assert [reason for _, reason, _ in run.dead] == ["late"] * 2
    for user in "ab":
        assert [one["second"] for one in said_by(run, user)] == list(range(2, 9))
    assert said_by(run, "odd") == []


def test_a_heartbeat_is_nobody_whatever_it_holds(tmp_path: Path) -> None:
    beats = {"stream_time": {"heartbeats": ["beat"]}}
    run = running(tmp_path, beats).feed([message("beat", 0, "thump"), *readings("ab", range(9))])
    assert run.releases == []
    run.feed([message("beat", 3_000), *readings("b", [1])])
    assert [one["second"] for one in said_by(run, "a")] == [1, 2, 3]
    assert said_by(run, "beat") == []
    assert [reason for _, reason, _ in run.dead] == ["too_far_ahead"] * 14 + ["late"]
    assert len(run.memory.table) == 2


def test_people_who_send_several_ticks_together_lose_none_within_the_grace(tmp_path: Path) -> None:
    """Records may come as many ticks early as they may come late: three watches, turn by turn."""
    run = running(tmp_path, {"grace": "4s", "stream_time": {"distinct_keys": 3}})
    users = "abc"
    run.feed([message(user, 0) for user in users] * 2)
    early = len(run.dead)
    run.feed([message(user, second * 1000) for user in users for second in range(1, 5)])
    run.feed([message(user, second * 1000) for second in range(5, 12) for user in users])
    assert run.dead[early:] == []
    assert all(one["status"] == "measured" for user in users for one in said_by(run, user))
    assert {len(said_by(run, user)) for user in users} == {7}


def test_a_value_is_held_until_a_later_record_closes_its_tick(tmp_path: Path) -> None:
    run = running(tmp_path)
    stage, table = run.memory.stage, run.memory.table
    assert not stage.holds(table)
    run.feed([message("ada", 5_100)])
    assert stage.holds(table)
    run.feed([message("ada", 9_000, "nothing"), message("ada", 9_100, "nothing")])
    assert not stage.holds(table)
