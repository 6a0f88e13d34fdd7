"""Aggregate sections of pipeline files: what they configure, and what is wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import WEventOperator
from fugu.dataflows.kinds.pba import PbaOperator
from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.wevent.fast import FilteredStrategy
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.strategy import Strategy, Watched
from tests.privacy.chain_responses import most_told

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
LEAVING = [[0.99, 0.01], [0.7, 0.3]]
ENTERED_FROM_ONE = [[0.0, 0.08, 0.92], [0.02, 0.0, 0.98], [0.06, 0.0, 0.94]]
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
        (
            {"kind": "pegasus", "correlation": {"transition": STICKY}},
            "correlation: a group of pegasus",
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
        (
            {
                "kind": "quantified",
                "epsilon": None,
                "correlation": {"transition": [[0.8, 0.2], [0.0, 1.0]], "at_most": 1.0},
            },
            "correlation.at_most: no budget above 0 keeps the leakage of an endless stream below "
            "a limit: after no number of ticks up to 256 can the same values be reached from every",
        ),
    ],
)
def test_what_does_not_go_is_refused(operator: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        configure(read(tmp_path, operator))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"realeased": 0.5}, ["flags.released: is required", "did you mean released?"]),
        ({"released": 0.5, "bogus": 1}, ["flags.bogus: unknown key; delete it"]),
        ({"released": 0.5, "threshold": 1}, ["flags.threshold: unknown key beside the other ones"]),
        ({"matrix": STICKY, "treshold": 1}, ["flags.treshold: unknown key; did you mean thresh"]),
        ({"matrix": STICKY, "released": 1}, ["flags.released: unknown key beside the other ones"]),
        ({"released": 2}, ["flags.released: must be at most 1"]),
        (
            "often",
            ["flags: write true or false, a list of them, {matrix: FILE, threshold: 0.5} or"],
        ),
        ([True, "x"], ["flags.1: input should be a valid boolean"]),
    ],
)
def test_what_is_wrong_with_flags_is_said_once_and_of_what_was_meant(
    flags: object, says: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, {"flags": flags})
    lines = str(refused.value).splitlines()
    assert len(lines) == len(says)
    assert all(text in line for text, line in zip(says, lines, strict=True))


@pytest.mark.parametrize(
    "flags", [True, [True, False], {"matrix": STICKY}, {"matrix": STICKY, "threshold": 1}]
)
def test_flags_may_be_written_in_every_form(flags: object, tmp_path: Path) -> None:
    operator = read(tmp_path, {"flags": flags}).pipeline.operator
    assert isinstance(operator, PbaOperator)
    assert operator.flags


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
    leakage = section(file).temporal_leakage(mechanism)
    assert leakage is not None
    for least, said in zip(known.over(spends).backward, told, strict=True):
        assert least - 1e-11 <= said <= known.backward.supremum(leakage.largest_spend) + 1.1e-6
    assert leakage.about_one <= 1.0 + 1e-9
    assert max(spends) <= leakage.largest_spend


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("rows", [ENTERED_FROM_ONE, LEAVING])
def test_wherever_people_began_no_more_is_told_than_is_printed(
    rows: list[list[float]], horizon: int | None, tmp_path: Path
) -> None:
    correlation = {"transition": rows, "at_most": 1.0}
    operator = {"kind": "quantified", "epsilon": None, "correlation": correlation}
    file = read(tmp_path, operator | {"horizon": horizon})
    mechanism = configure(file).mechanism
    leakage = section(file).temporal_leakage(mechanism)
    assert leakage is not None
    assert "every law of the first value" in leakage.backward_is
    assert isinstance(mechanism, Watched)
    assert isinstance(mechanism.strategy, Quantified)
    spends = [in_nats(units) for units in mechanism.strategy.declared(4)]
    for told in most_told(np.array(rows), spends):
        assert told <= leakage.about_one + 1e-9 <= 1.0 + 2e-9


def test_a_horizon_lets_the_ends_spend_more(tmp_path: Path) -> None:
    correlation = {"transition": STICKY, "at_most": 1.0}
    operator = {"kind": "quantified", "epsilon": None, "correlation": correlation}
    endless = configure(read(tmp_path, operator)).mechanism
    file = read(tmp_path, operator | {"horizon": 30})
    leakage = section(file).temporal_leakage(configure(file).mechanism)
    assert leakage is not None
    assert leakage.about_one == pytest.approx(1.0, abs=1e-9)
    assert isinstance(endless, Watched)
    assert units_of(leakage.largest_spend) > 4 * endless.strategy.largest_tick


@pytest.mark.parametrize("kind", ["fast", "rescue_dp"])
@pytest.mark.parametrize(("section", "most"), [({}, 1), ({"sum": AMOUNT}, 50)])
def test_filters_are_told_what_one_person_contributes(
    kind: str, section: dict[str, Any], most: int, tmp_path: Path
) -> None:
    mechanism = configure(read(tmp_path, {"kind": kind, **section})).mechanism
    assert isinstance(mechanism, FilteredStrategy)
    assert mechanism.contribution == most


@pytest.mark.parametrize(
    ("operator", "remarked"),
    [
        ({"window": 26}, True),
        ({"window": 27}, False),
        ({"window": 10, "samples": 2}, False),
        ({"window": 10, "correlation": {"transition": STICKY}}, True),
        ({"window": 10, "kind": "sample"}, False),
    ],
)
def test_one_sample_in_a_window_is_no_filter_and_that_is_said(
    operator: dict[str, Any], remarked: bool, tmp_path: Path
) -> None:
    file = read(tmp_path, {"kind": "fast", **operator})
    said = section(file).remarks(file, configure(file).mechanism)
    assert bool(said) == remarked
    assert all("takes one sample in" in one for one in said)


def test_more_groups_than_a_message_holds_sums_of_are_refused() -> None:
    section = {"kind": "uniform", "epsilon": 1.0, "window": 4, "ticks": {"width": "1s"}}
    many = section | {"groups": list(range(90_001))}
    assert UniformOperator.model_validate(many).group_count == 90_001
    with pytest.raises(ValidationError, match="groups: with sum at most 90,000"):
        UniformOperator.model_validate(many | {"sum": AMOUNT})


def test_sums_that_could_be_cut_off_are_refused_at_the_start(tmp_path: Path) -> None:
    """25.8 million were released as 17.6."""
    euros = {"field": "eur", "lower": 0, "upper": 1_000, "unit": 0.000001}

    def keys(most: int) -> dict[str, Any]:
        return {"directory": "./state", "max_keys": most}

    operator = {"sum": euros, "groups": None}
    assert 17_592 * 10**9 < 2**44 < 17_593 * 10**9
    file = read(tmp_path, operator, state=keys(17_592))
    section(file).refuse_large_sums(17_592)
    with pytest.raises(ConfigurationError, match=r"Lower state.max_keys to 17,592 or less"):
        read(tmp_path, operator, state=keys(17_593))
    with pytest.raises(ValueError, match=r"17,600 users"):
        section(file).refuse_large_sums(17_600)
