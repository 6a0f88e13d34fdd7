"""Temporal sections of pipeline files: what they configure, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.dataflows.stages.displaced.running import PIPELINE, pipeline_file

AUTO = {"kind": "temporal_perturbation", "threshold": None, "window": 20, "epsilon": 5.0}
NO_THRESHOLD = {"threshold": None, "epsilon": 5.0}


def configured(directory: Path, **operator: Any) -> Any:
    return configure(pipeline_file(directory, {}, operator)).mechanism


def test_a_budget_selects_the_threshold(tmp_path: Path) -> None:
    threshold = configured(tmp_path, window=10, **NO_THRESHOLD)
    assert isinstance(threshold, ThresholdPerturbation)
    assert (threshold.k, threshold.c0, threshold.epsilon) == (10, 7, 5.0)


def test_the_other_kinds_are_what_they_are_called(tmp_path: Path) -> None:
    def of(kind: str, **more: Any) -> Any:
        return configured(tmp_path, kind=kind, window=10, **(NO_THRESHOLD | more))

    extended = of("extended_threshold_perturbation", epsilon=1.0)
    assert isinstance(extended, ExtendedThresholdPerturbation)
    assert extended.acceptance == pytest.approx(0.099923, abs=1e-6)
    assert isinstance(of("backward_perturbation"), BackwardPerturbation)
    forward = of("forward_perturbation", epsilon=4.0)
    assert isinstance(forward, ForwardPerturbation)
    assert forward.internal_epsilon == pytest.approx(2.0424, abs=1e-4)
    nominal = of("forward_perturbation", epsilon=4.0, calibrate="nominal", accept_unsound=True)
    assert nominal.guarantees()[0].epsilon == pytest.approx(6.2061, abs=1e-4)


@pytest.mark.parametrize("kind", ["forward_perturbation", "temporal_perturbation"])
def test_a_nominal_epsilon_is_refused_naming_the_one_that_is_seen(
    kind: str, tmp_path: Path
) -> None:
    operator = {"kind": kind, "window": 20, "epsilon": 4.0, "calibrate": "nominal"}
    with pytest.raises(ConfigurationError, match=r"have 6\.048 nats, more than the epsilon of 4"):
        configured(tmp_path, **(NO_THRESHOLD | operator))


@pytest.mark.parametrize("require", [[], ["no_repeat"], ["no_empty"]])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 12.0])
def test_what_is_promised_is_never_more_than_what_is_declared(
    epsilon: float, require: list[str], tmp_path: Path
) -> None:
    free = {"missing": 0.0, "empty": 0.0}
    for costs in ({}, free, free | {"repeated": 0.0}):
        operator = AUTO | {"epsilon": epsilon, "require": require, "costs": costs}
        [promise] = configured(tmp_path, **operator).guarantees()
        assert promise.epsilon <= epsilon + 1e-9


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, ThresholdPerturbation),
        ({"costs": {"missing": 0.0, "repeated": 0.0}}, BackwardPerturbation),
        ({"require": ["no_repeat"], "costs": {"missing": 0.0, "empty": 0.0}}, ForwardPerturbation),
        ({"require": ["no_missing"], "costs": {"delay": 100.0}}, ThresholdPerturbation),
        ({"epsilon": 3.0}, ExtendedThresholdPerturbation),
    ],
)
def test_costs_and_constraints_choose_the_kind(
    more: dict[str, Any], kind: type, tmp_path: Path
) -> None:
    assert isinstance(configured(tmp_path, **(AUTO | more)), kind)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        ({"window": 2}, "window: must be a whole number of ticks, 3 to 1000"),
        ({"window": 1}, "operator.window: "),
        ({"threshold": 5}, "threshold: must be a whole number, 2 to window - 1, not 5"),
        ({"epsilon": 1.0}, "is above 1"),
        ({"epsilon": 0.0}, "operator.epsilon: "),
        ({"calibrate": "visible"}, "calibrate: threshold_perturbation does not have it"),
        ({"acceptance": 0.5}, "acceptance: threshold_perturbation does not have it"),
        ({"costs": {}}, "costs: threshold_perturbation does not have it"),
        ({"kind": "extended_threshold_perturbation"}, "acceptance: goes with threshold"),
        ({"kind": "temporal_perturbation"}, "threshold: temporal_perturbation does not have it"),
        ({"ticks": "minutes"}, "operator.ticks"),
        ({"ticks": {"width": "0s"}}, "width"),
        ({"ticks": {"width": "1s", "grace": "-1s"}}, "grace"),
        ({"ticks": {"width": "1.5ms"}}, "whole number of milliseconds"),
        ({"ticks": {"width": "1s", "idle": 19}}, "ticks.idle: must be at least 20"),
        ({"ticks": {"width": "1s", "several": "mean"}}, "several"),
        ({"start": "cold"}, "start: a cold start is the paper's"),
        ({"kind": "threshold", "window": 5}, "there is no 'threshold'"),
    ],
)
def test_what_does_not_go_is_refused(operator: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        configured(tmp_path, **operator)
    assert reason in str(refused.value)


def test_an_epsilon_that_no_threshold_has_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"which is 4\.31711.*window can be 8 at most"):
        configured(tmp_path, **(AUTO | {"epsilon": 3.0, "require": ["no_missing"]}))


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"budget": {"total": 10}}, "budget: nothing is charged for displacing values"),
        ({"source": PIPELINE["source"] | {"budget": 5}}, "source.budget: counts epsilon"),
        ({"source": PIPELINE["source"] | {"value": ["bpm", "at"]}}, "at is the time of a record"),
        (
            {"source": PIPELINE["source"] | {"value": "id", "dedupe": {"field": "id"}}},
            "id is the name",
        ),
        ({"source": PIPELINE["source"] | {"value": ["bpm", "bpm"]}}, "name every field once"),
        ({"source": PIPELINE["source"] | {"value": []}}, "source.value"),
    ],
)
def test_other_sections_must_go_with_it(
    entries: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, entry in entries.items():
        monkeypatch.setitem(PIPELINE, name, entry)
    with pytest.raises(ConfigurationError) as refused:
        pipeline_file(tmp_path, {}, {})
    assert reason in str(refused.value)


def test_what_is_too_far_ahead_may_be_changed_and_nothing_else_about_ticks(tmp_path: Path) -> None:
    def digest(**ticks: Any) -> str:
        section = {"ticks": {"width": "1m", "grace": "5s"} | ticks}
        return reading_digest(pipeline_file(tmp_path, {}, section).pipeline)

    assert digest(max_jump=7) == digest(max_jump=7_000) == digest()
    others = [digest(), digest(width="2m"), digest(grace="6s"), digest(several="list")]
    assert len(set(others)) == len(others)


def test_warnings_name_the_keys_of_the_file(tmp_path: Path) -> None:
    extended = {"kind": "extended_threshold_perturbation", "window": 10, "threshold": None}
    file = pipeline_file(tmp_path, {}, extended | {"epsilon": 1.0})
    warned = " ".join(file.pipeline.operator.remarks(file, configure(file).mechanism))
    assert "its window can be" in warned
    assert " k " not in warned
