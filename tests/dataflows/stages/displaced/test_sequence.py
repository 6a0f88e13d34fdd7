"""Every record is a tick: releases follow records one by one, and time is not looked at."""

from pathlib import Path

import orjson
import pytest

from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import Message, Running


def stream(users: int, length: int) -> list[Message]:
    return [
        (b"u%d" % user, orjson.dumps({"bpm": [step, user], "at": 1_000 * (length - step)}))
        for step in range(length)
        for user in range(users)
        if (step + user) % 5
    ]


@pytest.mark.parametrize("at_once", [1, 7])
def test_how_records_are_cut_into_batches_never_shows(at_once: int, tmp_path: Path) -> None:
    file, messages = pipeline_file(tmp_path, {}, {}), stream(users=7, length=30)
    whole = Running(file).feed(messages).finish()
    cut = Running(file)
    for start in range(0, len(messages), 50):
        cut.feed(messages[start : start + 50], at_once=at_once)
        cut.restart()
    assert cut.finish().releases == whole.releases


def test_a_release_has_the_time_of_the_record_of_its_tick(tmp_path: Path) -> None:
    messages = stream(users=1, length=30)
    run = Running(pipeline_file(tmp_path, {}, {})).feed(messages)
    times = [orjson.loads(value)["at"] for _, value in messages]
    assert [timestamp for *_, timestamp in run.releases] == times[4:]


def test_finishing_lets_everything_out_and_begins_another_epoch(tmp_path: Path) -> None:
    """The only values that are lost are those of the first window: c0 - 1 of each stream."""
    messages = stream(users=6, length=40)
    run = Running(pipeline_file(tmp_path, {}, {})).feed(messages).finish()
    released = [orjson.loads(value) for _, value, *_ in run.releases]
    values = [tuple(release["value"]) for release in released if not release["empty"]]
    assert len(set(values)) == len(values) == len(messages) - 6 * (3 - 1)
    assert {release["phase"] for release in released} == {"steady", "cooldown"}
    run.feed(messages)
    epochs = [orjson.loads(value)["epoch"] for _, value, *_ in run.releases[len(released) :]]
    assert set(epochs) == {1}
    assert len({header for *_, header, _ in run.releases}) == len(run.releases)
    again = [orjson.loads(value)["value"] for _, value, *_ in run.releases[len(released) :]]
    assert again != [release["value"] for release in released[: len(again)]], "other draws"


def test_discarding_publishes_nothing_and_begins_another_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Dropped are the k - c0 = 2 values that each stream holds back in steady state."""
    run = Running(pipeline_file(tmp_path, {}, {"end": "discard"})).feed(stream(6, 40))
    before = list(run.releases)
    with caplog.at_level("INFO"):
        assert run.finish().releases == before
    assert f"{6 * 2} values that were held back are dropped" in caplog.text
    run.feed(stream(6, 40))
    fresh = [orjson.loads(value) for _, value, *_ in run.releases[len(before) :]]
    assert {(release["epoch"], release["phase"]) for release in fresh} == {(1, "steady")}


def test_streams_that_have_not_begun_have_nothing_to_finish(tmp_path: Path) -> None:
    run = Running(pipeline_file(tmp_path, {}, {})).feed(stream(2, 20)).finish()
    count = len(run.releases)
    assert len(run.finish().releases) == count
    assert Running(pipeline_file(tmp_path, {}, {})).finish().releases == []
