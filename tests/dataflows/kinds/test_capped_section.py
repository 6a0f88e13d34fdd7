"""Sections under a personal cap: what is built, what does not go, and what is another law."""

from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.operators.personal_cap import PersonalCap, cap_of
from tests.dataflows.kinds.test_aggregate_section import read

CAPPED: dict[str, Any] = {"at_most": 3, "per": "6h"}
"""Of ticks of 15 minutes, 24 of them."""
KINDS = ("real_time", "running_total")


def section(kind: str, **changed: Any) -> dict[str, Any]:
    declared = {"kind": kind, "window": None, "epsilon": 2.0, "delta": 1e-6}
    return {**declared, "contributions": CAPPED, **changed}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cap_is_one_of_the_stage_and_of_the_mechanism(kind: str, tmp_path: Path) -> None:
    file = read(tmp_path, section(kind))
    operator = file.pipeline.operator
    assert isinstance(operator, CappedAggregate)
    cap = PersonalCap(3, 24)
    assert operator.personal_cap == cap == cap_of(configure(file).mechanism)
    assert operator.stage.columns(configure(file).mechanism, operator.in_ticks(), None)(1)[
        "counted"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_amounts_below_zero_cost_twice_as_much(kind: str, tmp_path: Path) -> None:
    amounts = {"sum": {"field": "kwh", "lower": -2, "upper": 5, "unit": 0.1}}
    file = read(tmp_path, section(kind, **amounts))
    cap = cap_of(configure(file).mechanism)
    assert cap is not None
    assert cap.factor == 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"horizon": 20}, "contributions"),
        ({"contributions": {**CAPPED, "at_most": 25}}, "contributions.at_most"),
        ({"contributions": {**CAPPED, "at_most": 0}}, "at_most"),
        ({"contributions": {**CAPPED, "per": "20m"}}, "contributions.per"),
        ({"contributions": {**CAPPED, "apart": 25}}, "contributions.apart"),
        ({"contributions": {**CAPPED, "per_tick": 2}}, "per_tick"),
        ({"protects": "presence"}, "protects"),
    ],
)
def test_what_does_not_go_is_refused(
    kind: str, changed: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        read(tmp_path, section(kind, **changed))


def test_a_strategy_for_windows_has_no_contributions(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="contributions: uniform does not have it"):
        read(tmp_path, {"kind": "uniform", "contributions": CAPPED})


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_a_cap_is_part_of_the_law(kind: str, tmp_path: Path) -> None:
    """So a state without a cap, or under another one, is refused."""
    caps: list[dict[str, Any]] = [
        {},
        {"at_most": 4},
        {"per": "12h"},
        {"allowance": "rising"},
        *([{"apart": 2}] if kind == "real_time" else []),
    ]
    operators = [section(kind, contributions={**CAPPED, **one}) for one in caps]
    operators.append(section(kind, contributions=None, horizon=24))
    laws = {configure(read(tmp_path, one)).mechanism.law_digest() for one in operators}
    assert len(laws) == len(operators)


def test_ticks_of_totals_that_nobody_is_in_allow_no_gaps(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="apart must be 1"):
        configure(read(tmp_path, section("running_total", contributions={**CAPPED, "apart": 2})))


def test_people_whose_totals_do_not_fit_are_too_many(tmp_path: Path) -> None:
    amounts = {"sum": {"field": "kwh", "lower": 0, "upper": 1000, "unit": 0.1}}
    whole: dict[str, Any] = {"contributions": None, "horizon": 300, "window": 1, "epsilon": 5.0}
    state = {"directory": "./state", "max_keys": 1_000_000_000}
    read(tmp_path, section("running_total", **whole, **amounts))
    with pytest.raises(ConfigurationError, match=r"state\.max_keys: .*no more room in 64 bits"):
        read(tmp_path, section("running_total", **whole, **amounts), state=state)


@pytest.mark.parametrize(("extent", "remarked"), [({}, True), ({"window": 1}, False)])
def test_totals_that_gain_nothing_are_remarked(
    extent: dict[str, int], remarked: bool, tmp_path: Path
) -> None:
    file = read(tmp_path, section("running_total", contributions=None, horizon=96, **extent))
    said = " ".join(remarks_of(file, configure(file).mechanism))
    assert ("err no less than with noise on each tick" in said) is remarked


def test_a_unit_far_below_the_noise_is_refused_with_advice(tmp_path: Path) -> None:
    amounts = {"sum": {"field": "kwh", "lower": 0, "upper": 1000, "unit": 0.001}}
    with pytest.raises(ConfigurationError, match="make the unit of amounts larger"):
        read(tmp_path, section("running_total", contributions=None, horizon=20_000, **amounts))
