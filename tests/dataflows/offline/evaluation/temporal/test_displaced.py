"""Evaluate what the live pipeline does: the same values at the same ticks."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.family import configured_epsilon, grid_of
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.offline.evaluation.temporal.samples import SECONDS, numbered, sample_of
from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import SECRET, Message, Running

MODES: dict[str, dict[str, Any]] = {
    "sequence": {},
    "last": {"ticks": SECONDS},
    "first": {"ticks": SECONDS | {"several": "first"}},
    "error": {"ticks": SECONDS | {"several": "error"}},
    "list": {"ticks": SECONDS | {"several": "list"}},
}
KINDS: dict[str, dict[str, Any]] = {
    "threshold_perturbation": {},
    "extended_threshold_perturbation": {"threshold": 3, "acceptance": 0.5},
    "backward_perturbation": {"threshold": None, "epsilon": 2.0},
    "forward_perturbation": {"threshold": None, "epsilon": 2.0},
}


def evaluated(
    directory: Path, file: PipelineFile, messages: list[Message], at_once: int = 10_000
) -> Displaced:
    operator = file.pipeline.operator
    assert isinstance(operator, TemporalOperator)
    [candidate] = grid_of(operator, [configured_epsilon(operator)], [], None).candidates
    sample = sample_of(directory, file, messages)
    return displaced(candidate, file.pipeline, sample, SECRET, batch=at_once)


def live(file: PipelineFile, messages: list[Message]) -> list[tuple[str, int, int]]:
    """Stream, tick of the epoch and record (-1: empty) of every release but those of the end;
    offsets are line numbers."""
    run = Running(file)
    run.memory.read = 1
    run.feed(messages).finish()
    found = []
    for key, content, *_ in run.releases:
        assert key is not None
        release = orjson.loads(content)
        value = -1 if release["empty"] else release["value"]
        record = value[0] if isinstance(value, list) else value
        if release["phase"] != "cooldown":
            found.append((key.decode(), release["tick"], record))
    return sorted(found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_values_leave_when_they_do_in_the_live_pipeline(
    kind: str, mode: str, tmp_path: Path
) -> None:
    section = {"kind": kind, "warm_up": "emit", **KINDS[kind], **MODES[mode]}
    file = pipeline_file(tmp_path, {"topic": "topic-id"}, section)
    messages = numbered(users=4, steps=25)
    run = evaluated(tmp_path, file, messages)
    names = list(dict.fromkeys(key.decode() for key, _ in messages))
    streams = [names[stream] for stream in run.streams.tolist()]
    found = sorted(zip(streams, run.numbers.tolist(), run.released.tolist(), strict=True))
    assert found == live(file, messages)
    assert sorted(run.dead.offsets) == sorted(set(run.dead.offsets))
    assert bool(run.dead.offsets) == (mode != "sequence")


@pytest.mark.parametrize("mode", MODES)
def test_a_threshold_lets_out_what_was_held_once_within_the_window(
    mode: str, tmp_path: Path
) -> None:
    file = pipeline_file(tmp_path, {}, MODES[mode])
    run = evaluated(tmp_path, file, numbered(users=4, steps=60))
    whole = run.whole_windows(5)
    left = dict(zip(run.released.tolist(), run.ticks.tolist(), strict=True))
    waited = [left[record] for record in run.held[whole].tolist()] - run.ticks[whole]
    assert set(waited.tolist()) == set(range(5))
    values = run.released[run.released >= 0]
    assert len(np.unique(values)) == len(values)
    assert set(values.tolist()) <= set(run.held.tolist())


@pytest.mark.parametrize("mode", ["sequence", "last"])
def test_how_the_sample_is_cut_never_shows(mode: str, tmp_path: Path) -> None:
    file, messages = pipeline_file(tmp_path, {}, MODES[mode]), numbered(users=4, steps=25)
    whole, cut = (evaluated(tmp_path, file, messages, at_once) for at_once in (1_000, 7))
    for name in ("streams", "ticks", "numbers", "held", "released"):
        assert getattr(cut, name).tolist() == getattr(whole, name).tolist()
    assert cut.dead == whole.dead


def test_records_that_were_sent_twice_are_one_tick(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path, {"dedupe": {"field": "at"}}, {"warm_up": "emit"})
    messages = [(b"a", b'{"at": %d, "bpm": 7}' % (number // 2)) for number in range(40)]
    run = evaluated(tmp_path, file, messages)
    assert run.held.tolist() == list(range(0, 40, 2))
    assert run.ticks.tolist() == list(range(20))


def test_a_record_without_a_value_is_a_tick_without_one(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path, {}, {"when_null": "as_none"})
    messages = [
        (b"a", b'{"at": %d, "bpm": %s}' % (n, b"7" if n % 4 else b"null")) for n in range(40)
    ]
    run = evaluated(tmp_path, file, messages)
    assert run.held.tolist() == [n if n % 4 else -1 for n in range(40)]
