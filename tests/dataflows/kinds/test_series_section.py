"""Sections of series in pipeline files: what they configure, and what is wrong with them."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError, FuguError, StartRefused
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.commands.validate import validate
from fugu.dataflows.offline.evaluation.families.by_section import family_of
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.run.run import run
from tests.dataflows.stages.series.running import OPERATOR, PIPELINE, operator, pipeline_file


def configured(directory: Path, **entries: Any) -> Any:
    return configure(pipeline_file(directory, {"operator": operator(**entries)})).mechanism


def test_the_range_is_counted_in_units_and_decides_the_noise(tmp_path: Path) -> None:
    mechanism = configured(tmp_path, lower=-5.5, upper=20, unit=0.1)
    assert (mechanism.lower, mechanism.upper, mechanism.units_per_one) == (-55, 200, 10)
    assert mechanism.series.sensitivity == 255
    wider = configured(tmp_path, lower=-5.5, upper=45.5, unit=0.1)
    name = "standard deviation of the noise of the first value"
    assert wider.audit()[name] == pytest.approx(2 * mechanism.audit()[name])


@pytest.mark.parametrize(
    ("chosen", "weight"), [("adaptive", None), ({"weight": 0.3}, 0.3), ("baseline", 1.0)]
)
def test_a_filter_is_a_weight(chosen: Any, weight: float | None, tmp_path: Path) -> None:
    assert configured(tmp_path, filter=chosen).weight == weight


@pytest.mark.parametrize("share", [{"horizon": 7}, {"period": 7}, {"decay": 0.9}])
def test_a_budget_is_shared_in_one_way(share: dict[str, Any], tmp_path: Path) -> None:
    mechanism = configured(tmp_path, **({"horizon": None} | share))
    [name] = share
    assert getattr(mechanism, name) == share[name]
    guarantee = mechanism.guarantees()[0]
    assert (guarantee.notion, guarantee.per, guarantee.window) == (
        ("w-event-ldp", "window", 7) if name == "period" else ("ldp", "stream", None)
    )
    assert (guarantee.epsilon, guarantee.delta) == (8.0, 1e-6)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"horizon": None}, "horizon, period, decay: write exactly one of them"),
        ({"period": 5}, "horizon, period, decay: write exactly one of them"),
        ({"horizon": 0}, "operator.horizon: "),
        ({"horizon": None, "decay": 1.0}, "operator.decay: "),
        ({"epsilon": 0.0}, "operator.epsilon: "),
        ({"epsilon": 1e-9}, "budget_below_resolution"),
        ({"epsilon": 21.0}, "operator.epsilon: "),
        ({"delta": 0.0}, "operator.delta: "),
        ({"delta": None}, "operator.delta: is required; add it"),
        ({"filter": "kalman"}, "operator.filter: "),
        ({"filter": {"weight": 0.0}}, "operator.filter.weight: "),
        ({"filter": 0.3}, "operator.filter: "),
        ({"presentation": "whole"}, "operator.presentation: "),
        ({"lower": 180}, "lower must be below upper"),
        ({"lower": 0, "upper": 2**45}, "within 2^44 units"),
        ({"ticks": {"several": "list"}}, "operator.ticks.several: "),
        ({"ticks": {"idle": 0}}, "operator.ticks.idle: "),
    ],
)
def test_what_does_not_go_is_refused(entries: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        configured(tmp_path, **entries)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("name", "entries", "reason"),
    [
        ("budget", {"total": 10}, "budget: epsilon is the budget of real_time_local; delete it"),
        ("source", {"dedupe": {"field": "id"}}, "source.dedupe: a stream has one value in a tick"),
        ("source", {"policies": "rules"}, "source.policies: real_time_local goes by no policies"),
        ("source", {"value": ["bpm", "at"]}, "source.value: real_time_local reads one field"),
        ("sink", {"partials": "parts"}, "sink.partials: real_time_local has no partial sums"),
    ],
)
def test_other_sections_must_go_with_it(
    name: str, entries: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        pipeline_file(tmp_path, {name: PIPELINE.get(name, {}) | entries})
    assert reason in str(refused.value)


def test_ticks_and_unit_decide_how_records_are_read_and_what_is_too_far_ahead_does_not(
    tmp_path: Path,
) -> None:
    def digest(ticks: dict[str, Any] | None = None, **entries: Any) -> str:
        section = operator(ticks, **entries)
        return reading_digest(pipeline_file(tmp_path, {"operator": section}).pipeline)

    assert digest({"max_jump": 7}) == digest({"max_jump": 7_000}) == digest()
    assert digest({"stream_time": {"heartbeats": ["beat"]}}) == digest()
    others = [digest(), digest(unit=0.5), digest({"idle": 7}), digest({"several": "first"})]
    assert len(set(others)) == len(others)


def test_there_is_nothing_to_finish_or_to_evaluate(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path)
    with pytest.raises(ConfigurationError, match="--finish: real_time_local holds nothing back"):
        run(file, finish=True)
    with pytest.raises(FuguError, match="fugu evaluate does not measure real_time_local"):
        family_of(file.pipeline.operator, Wanted())


def test_it_is_explained_and_validated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_TEST_SECRET", "ab" * 32)
    file = pipeline_file(tmp_path)
    explain([file], as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "Local Differential Privacy with epsilon 8 nats and delta 1e-06 per stream, over its whole",
        "8 nats with delta 1e-06, shared evenly among 100 values",
        "in which ticks a stream has a value: both are public",
        "when a stream begins, pauses and goes on",
        "after 20 ticks in a row without a record",
        "1.96 standard_error holds the true number in 19 ticks of 20",
        "to average over n streams choose filter: baseline",
        "standard deviation of the noise of the first value: 914.2",
    ):
        assert words in said
    assert validate(file, kafka=False, as_json=True)
    assert orjson.loads(capsys.readouterr().out)[1]["detail"].startswith("real_time_local, Local")


@pytest.mark.parametrize(
    ("stream_time", "said"),
    [
        ({"distinct_keys": 1}, "ONE PERSON MOVES IT"),
        ({"distinct_keys": 4}, "the latest time that records of 4 people have reached"),
        ({"heartbeats": ["beat"]}, "the latest time of a heartbeat"),
    ],
)
def test_it_is_explained_who_moves_stream_time(
    stream_time: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = operator({"stream_time": stream_time})
    explain([pipeline_file(tmp_path, {"operator": section})], as_json=False)
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("stream_time", "timestamp", "warned"),
    [
        ({"distinct_keys": 1}, "kafka", "ticks.stream_time.distinct_keys: 1 lets every record"),
        ({"heartbeats": ["beat"]}, "kafka", "ticks.stream_time.heartbeats: whoever may write to"),
        ({"distinct_keys": 1}, "broker", None),
        ({"distinct_keys": 3}, "kafka", None),
    ],
)
def test_it_is_warned_of_single_clocks_that_move_time_for_all(
    stream_time: dict[str, Any],
    timestamp: str,
    warned: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = PIPELINE["source"] | {"timestamp": timestamp}
    section = operator({"stream_time": stream_time})
    file = pipeline_file(tmp_path, {"operator": section, "source": source})
    validate(file, kafka=False, as_json=True)
    details = [
        row["detail"]
        for row in orjson.loads(capsys.readouterr().out)
        if row["result"] == "warning" and "stream_time" in row["detail"]
    ]
    assert [detail[: len(warned or "")] for detail in details] == ([] if not warned else [warned])


@pytest.mark.parametrize(
    "stream_time",
    [
        {},
        {"distinct_keys": 0},
        {"distinct_keys": 2, "heartbeats": ["b"]},
        {"heartbeats": []},
        {"max_ahead": "10ms"},
    ],
)
def test_who_moves_stream_time_is_said_in_one_way(
    stream_time: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="stream_time"):
        pipeline_file(tmp_path, {"operator": operator({"stream_time": stream_time})})


def test_only_the_time_in_a_field_is_compared_with_that_in_kafka(tmp_path: Path) -> None:
    section = {"operator": operator({"stream_time": {"max_ahead": "1h"}})}
    timed = pipeline_file(tmp_path, section)
    assert configure(timed).codec.max_ahead == 3_600_000
    assert reading_digest(timed.pipeline) == reading_digest(pipeline_file(tmp_path, {}).pipeline)
    source = {"source": PIPELINE["source"] | {"timestamp": "kafka"}}
    with pytest.raises(ConfigurationError, match=r"max_ahead: compares .*\.timestamp\.after"):
        pipeline_file(tmp_path, section | source)


def test_it_adds_to_the_budget_of_its_source(tmp_path: Path) -> None:
    def with_budget(nats: float) -> Any:
        return pipeline_file(tmp_path, {"source": PIPELINE["source"] | {"budget": nats}})

    explain([with_budget(OPERATOR["epsilon"])], as_json=True)
    with pytest.raises(StartRefused, match="is 7 nats per stream"):
        explain([with_budget(7)], as_json=True)
