"""Sections under a personal cap: what is built, what does not go, and what is another law."""

from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import RepeatedLoss
from fugu.operators.personal_cap import PersonalCap, cap_of
from fugu.operators.wevent.spread_strategies import Uniform
from tests.dataflows.kinds.test_aggregate_section import read

CAPPED: dict[str, Any] = {"at_most": 3, "per": "6h"}
"""A cap whose period has 24 ticks of 15 minutes."""
GAUSSIAN = ("real_time", "running_total")
KINDS = (*GAUSSIAN, "uniform")


def section(kind: str, **changed: Any) -> dict[str, Any]:
    declared = {"kind": kind, "window": None, "epsilon": 2.0}
    if kind in GAUSSIAN:
        declared["delta"] = 1e-6
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
        ({"window": 2}, "window"),
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


@pytest.mark.parametrize("at_most", [0, -3, "some", 10**6])
def test_a_wrong_cap_of_uniform_is_not_blamed_on_the_window(at_most: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"contributions\.at_most") as refused:
        read(tmp_path, section("uniform", contributions={**CAPPED, "at_most": at_most}))
    assert "window" not in str(refused.value)


def test_uniform_without_window_and_cap_is_told_that_it_takes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="window, contributions: write one of them"):
        read(tmp_path, section("uniform", contributions=None))


def test_a_strategy_for_windows_has_no_contributions(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="contributions: sample does not have it"):
        read(tmp_path, {"kind": "sample", "contributions": CAPPED})


@pytest.mark.parametrize("kind", GAUSSIAN)
def test_a_cap_takes_the_place_of_a_horizon(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="contributions"):
        read(tmp_path, section(kind, horizon=20))


def test_a_correlation_is_not_known_under_a_cap(tmp_path: Path) -> None:
    correlation = {"transition": [[0.7, 0.3], [0.4, 0.6]]}
    with pytest.raises(ConfigurationError, match="correlation: which ticks count"):
        read(tmp_path, section("uniform", correlation=correlation))


@pytest.mark.parametrize(("lower", "amount"), [(0, 50), (-60, 60)])
def test_laplace_noise_is_for_twice_what_one_contributes_in_the_ticks_that_count(
    lower: int, amount: int, tmp_path: Path
) -> None:
    """In units of 0.1, whatever the signs; all of it is stated per aligned period."""
    amounts = {"sum": {"field": "kwh", "lower": lower / 10, "upper": 5, "unit": 0.1}}
    uniform = configure(read(tmp_path, section("uniform", **amounts))).mechanism
    assert isinstance(uniform, Uniform)
    assert (uniform.window, uniform.sensitivity) == (3, 2 * amount)
    [promised] = uniform.guarantees()
    assert (promised.per, promised.window, promised.epsilon) == ("period", 24, 2.0)
    assert promised.delta == 0.0
    each = in_nats(uniform.largest_tick)
    loss = RepeatedLoss(each, 3) if lower < 0 else RepeatedLoss(each / 2, 6)
    assert isinstance(promised.loss, RepeatedLoss)
    assert promised.loss.number == loss.number
    assert promised.loss.each == pytest.approx(loss.each, rel=1e-9), "draws are in whole units"


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_a_cap_is_part_of_the_law(kind: str, tmp_path: Path) -> None:
    """So a state without a cap, or under another one, is refused."""
    caps: list[dict[str, Any]] = [
        {},
        {"at_most": 4},
        {"per": "12h"},
        {"allowance": "rising"},
        {"apart": 2},
    ]
    operators = [section(kind, contributions={**CAPPED, **one}) for one in caps]
    extent = {"horizon": 24} if kind in GAUSSIAN else {"window": 3}
    operators.append(section(kind, contributions=None, **extent))
    laws = {configure(read(tmp_path, one)).mechanism.law_digest() for one in operators}
    assert len(laws) == len(operators)


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
