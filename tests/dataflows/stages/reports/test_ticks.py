"""Reports over ticks of event time: everybody known reports, and nothing says who was there."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import tick_position
from fugu.operators.wevent_local.window_reports import WindowReports
from tests.dataflows.stages.reports.running import (
    SECONDS,
    ZONES,
    beat,
    message,
    reports_of,
    running,
    told,
)
from tests.dataflows.stages.running import Message

TICKS = 30


def wandering(users: str, seconds: int, seed: int) -> list[dict[str, object]]:
    """Everybody is somewhere in half of the ticks, and in the first one."""
    random = Random(seed)
    return [
        {user: random.choice(ZONES) for user in users if not second or random.random() < 0.5}
        for second in range(seconds)
    ]


@pytest.mark.parametrize("at_once", [1, 7])
def test_how_records_are_cut_into_batches_never_shows(at_once: int, tmp_path: Path) -> None:
    messages = told(wandering("abcde", TICKS, seed=1))
    whole = running(tmp_path).feed(messages)
    cut = running(tmp_path).feed(messages, at_once=at_once)
    assert (cut.releases, cut.dead) == (whole.releases, [])
    assert len({headers for _, _, headers, _ in whole.releases}) == 5 * TICKS


def test_a_state_that_was_written_and_read_goes_on_the_same(tmp_path: Path) -> None:
    messages = told(wandering("abc", TICKS, seed=2))
    whole, restarted = running(tmp_path, {"life": 4}).feed(messages), running(tmp_path, {"life": 4})
    for start in range(0, len(messages), 5):
        restarted.feed(messages[start : start + 5])
        restarted.restart()
    assert restarted.releases == whole.releases


@pytest.mark.parametrize(("kind", "flags"), [("pba_ldp", True), ("uniform_ldp", None)])
def test_a_stream_is_what_the_mechanism_makes_of_its_symbols_and_absences(
    kind: str, flags: bool | None, tmp_path: Path
) -> None:
    truth = wandering("ab", TICKS, seed=3)
    run = running(tmp_path, kind=kind, flags=flags).feed(told(truth))
    mechanism = run.memory.stage.mechanism
    assert isinstance(mechanism, WindowReports)
    state, expected = mechanism.start(1), []
    for second, zones in enumerate(truth):
        value = ZONES.index(str(zones["a"])) if "a" in zones else mechanism.symbols
        draws = run.memory.stage.scope.draws([b"a"], [tick_position("raw", second, partition=0)])
        state, releases = mechanism.step(state, Inputs(np.array([value])), draws)
        assert releases.kinds is not None
        zone = [name for name, bit in zip(ZONES, releases.values[0], strict=True) if bit]
        expected.append((zone, bool(releases.kinds[0] == Kind.REPEATED)))
    found = [(one["zone"], one.get("repeated", False)) for one in reports_of(run, "a")]
    assert found == expected
    assert [one["second"] for one in reports_of(run, "a")] == list(range(1, TICKS + 1))


def test_only_values_say_in_which_ticks_a_stream_had_a_record(tmp_path: Path) -> None:
    """Keys, names, times, and everything about others: the same bytes, whether `a` is there."""
    truth = wandering("abc", TICKS, seed=4)
    without = [{u: zone for u, zone in zones.items() if u != "a"} for zones in truth]
    whole = running(tmp_path).feed(told(truth))
    absent = running(tmp_path).feed(told([truth[0], *without[1:]]))

    def but_for_values(release: tuple[object, bytes, object, int]) -> object:
        key, value, headers, timestamp = release
        return key, None if key == b"a" else value, headers, timestamp

    assert list(map(but_for_values, whole.releases)) == list(map(but_for_values, absent.releases))
    assert whole.releases != absent.releases
    assert not whole.dead


@pytest.mark.parametrize("present", [True, False])
def test_an_absent_stream_reports_as_if_its_report_held_the_truth(
    present: bool, tmp_path: Path
) -> None:
    """With much budget, the report in force is repeated; without one, no symbol is in it."""
    truth: list[dict[str, object]] = [{"a": "light"}]
    truth += [{"a": "rest"} if present else {} for _ in range(6)]
    run = running(tmp_path, epsilon=50.0, window=1).feed(told(truth))
    zones = [one["zone"] for one in reports_of(run, "a")]
    assert zones == [["light"], *[["rest"] if present else ["light"]] * 6]
    every = running(tmp_path, kind="uniform_ldp", flags=None, epsilon=50.0, window=1)
    zones = [one["zone"] for one in reports_of(every.feed(told(truth)), "a")]
    assert zones == [["light"], *[["rest"] if present else []] * 6]


def test_a_stream_reports_for_its_declared_life_and_then_waits_for_a_record(
    tmp_path: Path,
) -> None:
    truth: list[dict[str, object]] = [{"a": "rest"}, *[{} for _ in range(9)]]
    truth[2], truth[7] = {"a": "light"}, {"a": "light"}
    seconds = [one["second"] for one in reports_of(running(tmp_path).feed(told(truth)), "a")]
    assert seconds == list(range(1, 11))
    run = running(tmp_path, {"life": 4}).feed(told(truth))
    assert [one["second"] for one in reports_of(run, "a")] == [1, 2, 3, 4, 8, 9, 10]


def test_a_window_goes_on_over_the_end_of_a_life(tmp_path: Path) -> None:
    """Count what was charged before in the ticks after, so that no window is charged twice."""
    entries: dict[str, Any] = {"kind": "sample_ldp", "window": 3, "flags": None}
    truth: list[dict[str, object]] = [{"a": "rest"}, {}, {"a": "rest"}, {"a": "rest"}]
    run = running(tmp_path, {"life": 1}, **entries).feed(told(truth))
    told_again = [one.get("repeated", False) for one in reports_of(run, "a")]
    assert [one["second"] for one in reports_of(run, "a")] == [1, 3, 4]
    assert told_again == [False, True, True]


@pytest.mark.parametrize(
    ("several", "counts", "dead"),
    [("last", "vigorous", 0), ("first", "rest", 0), ("error", "rest", 2)],
)
def test_of_several_records_in_a_tick_one_counts(
    several: str, counts: str, dead: int, tmp_path: Path
) -> None:
    records = [message("a", at, zone) for at, zone in enumerate(ZONES)]
    run = running(tmp_path, {"several": several}).feed([beat(0), *records, beat(1)])
    alone = running(tmp_path, {"several": several}).feed(
        [beat(0), message("a", 0, counts), beat(1)]
    )
    assert run.releases == alone.releases
    assert len(run.releases) == 1
    assert [reason for _, reason, _ in run.dead] == ["second_in_tick"] * dead
    [guarantee] = configure(run.file).mechanism.guarantees()
    named = {point.name for point in guarantee.not_covered}
    assert ("second-in-tick" in named) == bool(dead), "dead letters show who has a record"
    assert "refused" in named


def test_late_records_change_nothing(tmp_path: Path) -> None:
    messages = told(wandering("ab", 9, seed=5))
    late = running(tmp_path).feed([*messages, message("a", 3_000, "light"), beat(10)])
    assert late.releases == running(tmp_path).feed([*messages, beat(10)]).releases
    assert late.dead == [(len(messages), "late", "")]


@pytest.mark.parametrize(
    ("record", "reason", "field"),
    [
        ({"zone": "asleep", "at": 1_000}, "outside_domain", "zone"),
        ({"at": 1_000}, "field_missing", "zone"),
        ({"zone": None, "at": 1_000}, "wrong_type", "zone"),
        ({"zone": "rest"}, "field_missing", "at"),
    ],
)
def test_a_record_that_says_no_symbol_is_a_dead_letter_and_its_stream_is_absent(
    record: dict[str, Any], reason: str, field: str, tmp_path: Path
) -> None:
    bad: Message = b"a", orjson.dumps(record)
    begun = [beat(0), message("a", 0), beat(1)]
    run = running(tmp_path).feed([*begun, bad, beat(2)])
    assert run.releases == running(tmp_path).feed([*begun, beat(2)]).releases
    assert run.dead == [(3, reason, field)]


def test_a_record_without_a_symbol_begins_no_stream(tmp_path: Path) -> None:
    run = running(tmp_path).feed([beat(0), message("a", 0, "asleep"), beat(3)])
    assert not run.releases


def test_people_move_stream_time_where_no_heartbeat_is_declared(tmp_path: Path) -> None:
    ticks = SECONDS | {"stream_time": {"distinct_keys": 2}}
    messages = [message(user, second * 1000) for second in range(5) for user in "ab"]
    run = running(tmp_path, ticks).feed(messages)
    assert [one["second"] for one in reports_of(run, "a")] == [2, 3, 4]
    [guarantee] = run.memory.stage.mechanism.guarantees()
    assert "times-of-records" in {point.name for point in guarantee.not_covered}


@pytest.mark.parametrize(
    ("matrix", "why"),
    [
        ([[0.9, 0.2], [0.1, 0.9]], "every row must be probabilities that sum to 1"),
        ([[0.9, 0.1], [1.0]], "must be square, and not empty"),
    ],
)
def test_a_matrix_that_is_none_is_refused_with_its_line(
    matrix: list[list[float]], why: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"pipeline.yaml:\d+: operator.flags(\.matrix)?: .*{why}"
    ):
        running(tmp_path, flags={"matrix": matrix})
