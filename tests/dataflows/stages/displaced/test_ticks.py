"""Ticks of event time: closed by records alone, in order, for every stream of the partition."""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import Message, Running

SECONDS: dict[str, Any] = {"width": "1s", "grace": "500ms", "max_jump": 30, "idle": 20} | {
    "stream_time": {"distinct_keys": 1}
}


def message(user: str, at: int, value: object = 70) -> Message:
    return user.encode(), orjson.dumps({"bpm": value, "at": at})


def running(directory: Path, *, source: Any = None, ticks: Any = None, **operator: Any) -> Running:
    section = {**operator, "ticks": SECONDS | (ticks or {})}
    return Running(pipeline_file(directory, source or {}, section))


def at(record: Message) -> int:
    return int(orjson.loads(record[1])["at"])


def told(run: Running, user: str) -> list[dict[str, Any]]:
    """Releases of one stream, each with the second it is dated at."""
    return [
        orjson.loads(value) | {"second": timestamp / 1000}
        for key, value, _, timestamp in run.releases
        if key == user.encode()
    ]


def disordered(users: int, steps: int) -> list[Message]:
    """Nine of ten readings are there, up to 400 ms late, and some much later, or far ahead."""
    random, timed = Random(4), []
    for step in range(steps):
        for user in range(users):
            if random.random() < 0.9:
                at = step * 1000 + random.randrange(1000)
                shift = random.choice([0] * 40 + [-3_000, 60_000])
                timed.append(
                    (at + random.randrange(400), message(f"u{user}", at + shift, [step, user]))
                )
    return [record for _, record in sorted(timed, key=lambda entry: entry[0])]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_how_records_are_cut_into_batches_never_shows(at_once: int, tmp_path: Path) -> None:
    messages = disordered(users=9, steps=40)
    whole = running(tmp_path).feed(messages).finish()
    cut = running(tmp_path).feed(messages, at_once=at_once).finish()
    assert cut.releases == whole.releases
    assert cut.dead == whole.dead
    assert {reason for _, reason, _ in whole.dead} == {"late", "too_far_ahead"}
    assert len({header for *_, header, _ in whole.releases}) == len(whole.releases)


def test_a_state_that_was_written_and_read_goes_on_the_same(tmp_path: Path) -> None:
    messages = disordered(users=5, steps=40)
    whole, restarted = running(tmp_path).feed(messages), running(tmp_path)
    for start in range(0, len(messages), 20):
        restarted.feed(messages[start : start + 20])
        restarted.restart()
    assert restarted.finish().releases == whole.finish().releases


def test_a_tick_closes_for_everybody_when_anybodys_time_has_passed_it(tmp_path: Path) -> None:
    run = running(tmp_path, warm_up="emit")
    run.feed([message("a", 100), message("b", 900), message("a", 1_499)])
    run.feed([message("a", 1_500), message("a", 2_499)])
    assert run.releases == []
    run.feed([message("a", 2_500)])
    assert [(key, timestamp) for key, _, _, timestamp in run.releases] == [
        (b"a", 2000),
        (b"b", 2000),
    ]


def test_the_record_that_begins_an_epoch_is_not_released(tmp_path: Path) -> None:
    """A reader can tell which tick it is of; so it only says that the next tick is the first."""
    for first in range(20):
        run = running(tmp_path, warm_up="emit")
        messages = [
            message(f"u{n}", 1_000 * second, second)
            for second in (first, first + 1)
            for n in range(20)
        ]
        run.feed([*messages, *(message("u0", 1_000 * s) for s in range(first + 2, first + 12))])
        values = {release["value"] for n in range(1, 20) for release in told(run, f"u{n}")}
        assert values == {None, first + 1}


def test_a_stream_goes_through_ticks_without_a_record_too(tmp_path: Path) -> None:
    gaps = [message("a", second * 1000) for second in range(40) if second % 3 == 0]
    releases = told(running(tmp_path).feed(gaps), "a")
    assert [release["tick"] for release in releases] == list(range(5, 38))
    assert [release["second"] for release in releases] == list(range(6, 39))
    assert sum(not release["empty"] for release in releases) <= len(gaps)


def test_every_value_leaves_once_within_the_window(tmp_path: Path) -> None:
    run = running(tmp_path).feed([message("a", s * 1000, s) for s in range(200)]).finish()
    releases = [release for release in told(run, "a") if not release["empty"]]
    steady = [release for release in releases if release["phase"] == "steady"]
    delays = [release["second"] - 1 - release["value"] for release in steady]
    assert min(delays) >= 0
    assert max(delays) == 4
    assert len(releases) == len(steady) + 1
    assert len({release["value"] for release in releases}) == len(releases) == 197
    assert [release["value"] for release in releases] != sorted(r["value"] for r in releases)


@pytest.mark.parametrize(
    ("several", "value", "dead"),
    [("last", 3, 0), ("first", 1, 0), ("list", [1, None, 3], 0), ("error", 1, 2)],
)
def test_several_records_of_a_stream_in_a_tick(
    several: str, value: object, dead: int, tmp_path: Path
) -> None:
    run = running(tmp_path, ticks={"several": several}, when_null="as_none")
    records = [message("a", 7_000 + at, v) for at, v in enumerate([1, None, 3])]
    others = [message("a", second * 1000, None) for second in (*range(7), *range(8, 30))]
    run.feed([*others[:7], *records, *others[7:]])
    values = [release["value"] for release in told(run, "a") if not release["empty"]]
    assert [v for v in values if v not in (None, [None])] == [value]
    assert [reason for _, reason, _ in run.dead] == ["second_in_tick"] * dead


def test_a_stream_that_says_nothing_for_long_ends_its_epoch_and_begins_another(
    tmp_path: Path,
) -> None:
    """Count in what is released how long it is: when the last value came does not show."""
    run = running(tmp_path)
    run.feed([message("a", second * 1000, second) for second in range(10)])
    run.feed([message("b", second * 1000) for second in range(10, 60)])
    first = told(run, "a")
    values = [release["empty"] for release in first]
    assert values[-20:] == [True] * 20
    assert not values[-21]
    assert {release["epoch"] for release in first} == {0}
    run.feed([message("a", second * 1000, second) for second in range(60, 80)])
    second = told(run, "a")[len(first) :]
    assert {release["epoch"] for release in second} == {1}
    assert [release["tick"] for release in second][:2] == [5, 6]
    assert second[0]["second"] == 66
    assert not run.dead


def test_what_waits_when_an_epoch_ends_does_not_keep_it_going(tmp_path: Path) -> None:
    """Twenty releases without a value end it, whatever has come meanwhile: what waits is lost, as
    if the stream had begun later."""
    users, run = range(60), running(tmp_path)
    run.feed([message(f"u{n}", 1_000 * s, s) for s in range(8) for n in users])
    late = [message(f"u{n}", 25_000 + 100 * (n % 40), 25) for n in users]
    run.feed([*(message("b", 1_000 * s) for s in range(8, 25)), *sorted(late, key=at)])
    run.feed([message("b", 1_000 * second) for second in range(29, 60)])
    lost = 0
    for n in users:
        releases = told(run, f"u{n}")
        assert {release["epoch"] for release in releases} == {0}
        pattern = "".join("e" if release["empty"] else "v" for release in releases)
        assert pattern.endswith("e" * 20)
        assert "e" * 21 not in pattern
        lost += 25 not in {release["value"] for release in releases}
    assert 0 < lost < 60


def test_a_clock_that_jumps_is_refused_and_moves_nothing(tmp_path: Path) -> None:
    run = running(tmp_path).feed([message("a", 0), message("a", 40_000), message("a", 5_000)])
    assert run.dead == [(1, "too_far_ahead", "")]
    run.feed([message("a", 34_999)])
    assert len(run.dead) == 1


@pytest.mark.parametrize("restarted", [False, True])
def test_after_finishing_time_goes_on_with_the_next_record_however_far_ahead(
    restarted: bool, tmp_path: Path
) -> None:
    """Which is what to do when a partition was silent for longer than `max_jump`."""
    run = running(tmp_path).feed([message("a", second * 1000, second) for second in range(20)])
    outage = 1_000_000
    run.feed([message("a", outage)])
    assert run.dead == [(20, "too_far_ahead", "")]
    count = len(run.finish().finish().releases)
    if restarted:
        run.restart()
    run.feed([message("a", 19_999), message("a", outage), message("a", outage + 7_000)])
    assert [letter[:2] for letter in run.dead[1:]] == [(21, "late")]
    fresh = told(run, "a")[-len(run.releases) + count :]
    assert [(release["epoch"], release["second"]) for release in fresh] == [(1, 1006.0)]


def test_discarding_closes_what_is_open_and_publishes_nothing_else(tmp_path: Path) -> None:
    messages = [message("a", second * 1000, second) for second in range(20)]
    drained = told(running(tmp_path).feed(messages).finish(), "a")
    discarded = told(running(tmp_path, end="discard").feed(messages).finish(), "a")
    steady = [release for release in drained if release["phase"] == "steady"]
    assert discarded == steady
    assert len(drained) == len(steady) + 2
    assert steady[-1]["second"] == 21, "the last tick that a record could have been in"


def test_refused_records_of_unknown_streams_take_no_row(tmp_path: Path) -> None:
    run = Running(running(tmp_path).file, max_keys=2)
    run.feed([message("a", 10_000), message("late", 0), message("b", 10_000), message("c", 10_001)])
    assert [(offset, reason) for offset, reason, _ in run.dead] == [
        (1, "late"),
        (3, "too_many_keys"),
    ]


def test_empty_ticks_can_be_left_out(tmp_path: Path) -> None:
    messages = [message("a", second * 1000, second) for second in range(0, 60, 2)]
    shown = told(running(tmp_path).feed(messages), "a")
    skipped = told(running(tmp_path, empty="skip").feed(messages), "a")
    assert any(release["empty"] for release in shown)
    assert len({release["value"] for release in skipped}) == len(skipped)
    assert not any(release["empty"] for release in skipped)


def test_what_no_message_could_hold_is_refused_and_stops_nobody(tmp_path: Path) -> None:
    text, digits = "x" * 1_000, b'{"bpm": [%b], "at": 5000}' % b",".join([b"1e15"] * 100_000)
    run = running(tmp_path, ticks={"several": "list"})
    run.feed([message("a", 5_000, text)] * 1_000 + [(b"b", digits)])
    assert {reason for _, reason, _ in run.dead} == {"too_large"}
    assert run.dead[-1] == (1_000, "too_large", "bpm")
    run.feed([message("a", second * 1_000) for second in range(6, 30)])
    assert max(len(value) for _, value, *_ in run.releases) < 1_000_000
    assert len(told(run, "a")) > 10


def test_a_user_in_two_partitions_has_independent_delays_and_other_release_ids(
    tmp_path: Path,
) -> None:
    """With `partitioner: unchecked`: equal releases must not show that values are equal."""
    messages = [message("a", second * 1000, second) for second in range(200)]
    file = running(tmp_path).file
    here, there = (Running(file, partition=p).feed(messages).finish() for p in (0, 1))
    values = [[release["value"] for release in told(run, "a")] for run in (here, there)]
    assert sum(one == other for one, other in zip(*values, strict=True)) < 100
    names = [{headers[0] for *_, headers, _ in run.releases} for run in (here, there)]
    assert names[0].isdisjoint(names[1])


def test_a_payload_that_is_refused_moves_time_as_any_other_does(tmp_path: Path) -> None:
    ticks = {"stream_time": {"distinct_keys": 2}}
    people = [message(user, second * 1_000, second) for second in range(40) for user in "abc"]
    runs = [
        running(tmp_path, ticks=ticks).feed(
            [*people[:60], *[(b"x", payload) for payload in payloads], *people[60:]]
        )
        for payloads in (
            [b'{"bpm": 70, "at": 22500}', b'{"bpm": 70, "at": 23500}'],
            [b'{"at": 22500}', b'{"bpm": NaN, "at": 23500}'],
            [b'{"bpm": null, "at": 22500}', b'{"bpm": "' + b"x" * 1_000_000 + b'", "at": 23500}'],
        )
    ]
    for run in runs[1:]:
        for user in "abc":
            assert told(run, user) == told(runs[0], user)
    assert [reason for offset, reason, _ in runs[2].dead if offset > 1] == [
        "wrong_type",
        "too_large",
    ]


def test_after_a_silence_streams_go_on_by_themselves(tmp_path: Path) -> None:
    """Every record that followed was refused, until somebody stopped the pipeline."""
    run = running(tmp_path, ticks={"stream_time": {"distinct_keys": 1, "max_ahead": "36500d"}})
    run.feed([message("a", second * 1000, second) for second in range(20)])
    run.feed([message("a", 10**9 + second * 1000, second) for second in range(100)])
    assert [reason for _, reason, _ in run.dead] == ["too_far_ahead"] * 19
    seconds = [one["second"] for one in told(run, "a")]
    assert max(before for before in seconds if before < 10**6) <= 20 + 30 + 1
    assert len([after for after in seconds if after > 10**6]) > 70


def test_one_clock_that_is_ahead_decides_nothing_about_others_when_a_pipeline_is_finished(
    tmp_path: Path,
) -> None:
    """It closed fifty ticks more for everybody, and only if its value was not refused."""
    people = "bcdef"
    messages = [message(who, second * 1000, second) for second in range(30) for who in people]
    ahead: list[list[Message]] = [[], [message("a", 45_000, 7)], [message("a", 45_000, None)]]
    shown = []
    for extra in ahead:
        run = running(tmp_path, ticks={"stream_time": {"distinct_keys": 3}})
        run.feed([*messages, *extra]).finish()
        late = len(run.dead)
        run.feed([message(who, s * 1000, s) for s in range(60, 70) for who in people])
        refused = [reason for _, reason, _ in run.dead[late:]]
        shown.append(([told(run, who) for who in people], refused))
    assert shown[0] == shown[1] == shown[2]
