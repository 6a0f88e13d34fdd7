"""Aggregate sections of pipeline files: what they configure, and what is wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from pydantic import ValidationError

from dataflows.aggregates.correlation import temporal_leakage
from dataflows.errors import ConfigurationError
from dataflows.mechanisms import configure
from dataflows.operator_sections.aggregates import WEventOperator
from dataflows.pipeline_file import PipelineFile
from operators.leakage.correlation import TemporalCorrelation
from operators.mechanism import Inputs
from operators.nats import in_nats, units_of
from operators.randomness import DrawScope, tick_position
from operators.secret import Secret
from operators.wevent.rescue_dp import RescueDp
from operators.wevent.strategy import Strategy
from operators.wevent.watched import Watched

OPERATOR: dict[str, Any] = {
    "kind": "pba",
    "epsilon": 1.0,
    "window": 8,
    "groups": ["north", "south"],
    "ticks": {"width": "15m", "grace": "2m"},
}
PIPELINE: dict[str, Any] = {
    "name": "city",
    "source": {"topic": "trips", "value": "zone"},
    "operator": OPERATOR,
    "sink": {"topic": "counts"},
    "kafka": {"bootstrap": "localhost:9092"},
    "state": {"directory": "./state"},
    "secret": {"env": "FUGU_TEST_SECRET"},
}
STICKY = [[0.9, 0.1], [0.1, 0.9]]
AMOUNT = {"field": "kwh", "lower": -2, "upper": 5, "unit": 0.1}


def read(directory: Path, operator: dict[str, Any], **sections: Any) -> PipelineFile:
    section = {name: entry for name, entry in (OPERATOR | operator).items() if entry is not None}
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(PIPELINE | {"operator": section} | sections))
    return PipelineFile.read(path)


def section(file: PipelineFile) -> WEventOperator:
    assert isinstance(file.pipeline.operator, WEventOperator)
    return file.pipeline.operator


@pytest.mark.parametrize(
    ("operator", "sensitivity"),
    [
        ({}, 2),
        ({"protects": "presence"}, 1),
        ({"groups": None}, 1),
        ({"sum": AMOUNT}, 100),
        ({"sum": AMOUNT, "protects": "presence"}, 50),
        ({"sum": AMOUNT, "groups": None}, 70),
    ],
)
def test_noise_is_for_what_one_contribution_can_change(
    operator: dict[str, Any], sensitivity: int, tmp_path: Path
) -> None:
    file = read(tmp_path, operator)
    assert section(file).sensitivity == sensitivity
    mechanism = configure(file).mechanism
    assert isinstance(mechanism, Strategy)
    assert mechanism.sensitivity == sensitivity


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        ({"epsilon": None}, "epsilon: is required"),
        ({"kind": "sample", "flags": True}, "flags: sample does not have it"),
        ({"samples": 3}, "samples: pba does not have it"),
        ({"process_variance": 3}, "process_variance: pba does not have it"),
        ({"kind": "rescue_dp", "process_variance": 0}, "operator.process_variance"),
        ({"kind": "binary_tree"}, "horizon: binary_tree needs it"),
        (
            {"kind": "binary_tree", "horizon": 9, "correlation": {"transition": STICKY}},
            "correlation: a total of binary_tree",
        ),
        ({"kind": "quantified"}, "correlation: quantified takes its budgets"),
        ({"correlation": {"transition": [[0.9, 0.2], [0.1, 0.9]]}}, "row 0"),
        ({"correlation": {"transition": "nowhere.json"}}, "nowhere.json cannot be read"),
        ({"other": "west"}, "other: must be one of groups"),
        ({"groups": ["a", "a"]}, "operator.groups"),
        ({"ticks": {"width": "1.5ms"}}, "whole number of milliseconds"),
        ({"sum": AMOUNT | {"upper": 1e12, "unit": 0.1}}, "at most 2^32 units"),
        ({"window": 0}, "operator.window"),
        (
            {"correlation": {"transition": [[1, 0], [0, 1]], "at_most": 1.0}},
            "two values never lead to the same one",
        ),
    ],
)
def test_what_does_not_go_is_refused(operator: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        configure(read(tmp_path, operator))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"budget": {"total": 3}}, "epsilon is the budget"),
        ({"source": PIPELINE["source"] | {"dedupe": {"field": "id"}}}, "source.dedupe: a user"),
        ({"sink": {"topic": "counts", "partials": "trips"}}, "must be different ones"),
    ],
)
def test_other_sections_must_go_with_it(
    sections: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, {}, **sections)
    assert reason in str(refused.value)


@pytest.mark.parametrize(("section", "units"), [({}, 9.0), ({"sum": AMOUNT}, 900.0)])
def test_a_process_variance_is_in_squares_of_what_is_released(
    section: dict[str, Any], units: float, tmp_path: Path
) -> None:
    file = read(tmp_path, {"kind": "rescue_dp", "process_variance": 9, **section})
    mechanism = configure(file).mechanism
    assert isinstance(mechanism, RescueDp)
    assert mechanism.process_variance == units


@pytest.mark.parametrize("protects", ["contribution", "presence"])
@pytest.mark.parametrize(
    "kind",
    [
        "uniform",
        "sample",
        "budget_distribution",
        "budget_absorption",
        "pba",
        "rescue_dp",
        "quantified",
    ],
)
def test_a_limit_of_leakage_is_kept_whatever_is_published(
    kind: str, protects: str, tmp_path: Path
) -> None:
    (tmp_path / "moves.json").write_bytes(orjson.dumps(STICKY))
    file = read(
        tmp_path,
        {
            "kind": kind,
            "epsilon": None if kind == "quantified" else 8.0,
            "correlation": {"transition": "moves.json", "at_most": 1.0},
            "protects": protects,
        },
    )
    mechanism, factor = configure(file).mechanism, 2 if protects == "presence" else 1
    assert isinstance(mechanism, Watched)
    scope = DrawScope(Secret(bytes(32)), "city", kind, 1, mechanism.law_digest())
    state, spends, told = mechanism.start(1), list[float](), list[float]()
    for tick in range(60):
        before, truth = int(state["spent"][0]), np.array([[tick // 7 * 900, 40]])
        draws = scope.draws([b"schedule"], [tick_position("trips", tick)])
        state, releases = mechanism.step(state, Inputs(truth), draws)
        told.append(float(releases.annotations["backward_leakage"][0]))
        spends.append(in_nats(factor * (int(state["spent"][0]) - before)))
    known = TemporalCorrelation.of(STICKY)
    assert 0.0 < max(known.over(spends).total) <= 1.0
    assert told == pytest.approx(known.over(spends).backward, abs=1.1e-6)
    leakage = temporal_leakage(section(file), mechanism)
    assert leakage is not None
    assert leakage.about_one <= 1.0 + 1e-9
    assert max(spends) <= leakage.largest_spend


def test_a_horizon_lets_the_ends_spend_more(tmp_path: Path) -> None:
    correlation = {"transition": STICKY, "at_most": 1.0}
    operator = {"kind": "quantified", "epsilon": None, "correlation": correlation}
    endless = configure(read(tmp_path, operator)).mechanism
    file = read(tmp_path, operator | {"horizon": 30})
    leakage = temporal_leakage(section(file), configure(file).mechanism)
    assert leakage is not None
    assert leakage.about_one == pytest.approx(1.0, abs=1e-9)
    assert isinstance(endless, Watched)
    assert units_of(leakage.largest_spend) > 4 * endless.strategy.largest_tick


def test_more_groups_than_a_message_holds_sums_of_are_refused() -> None:
    section = {"kind": "uniform", "epsilon": 1.0, "window": 4, "ticks": {"width": "1s"}}
    many = section | {"groups": list(range(90_001))}
    assert WEventOperator.model_validate(many).group_count == 90_001
    with pytest.raises(ValidationError, match="groups: with sum at most 90,000"):
        WEventOperator.model_validate(many | {"sum": AMOUNT})
