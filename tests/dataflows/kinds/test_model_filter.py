"""Filters of real_time that know something in public: a model, a history, weights in turn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.real_time_release import DeclaredModel, RealTimeRelease
from fugu.operators.realtime.shaped_release import ShapedRelease
from tests.dataflows.kinds.test_aggregate_section import read

CAPPED: dict[str, Any] = {"contributions": {"at_most": 1, "per": "6h"}}
MODEL: dict[str, Any] = {"mean": 40, "deviation": [9, 12], "correlation": 0.98}
GROUPS = ["north", "south"]


def built(directory: Path, **changed: Any) -> Mechanism:
    section = {"kind": "real_time", "window": None, "epsilon": 0.5, "delta": 1e-6, "groups": GROUPS}
    return configure(read(directory, section | changed)).mechanism


def test_a_model_under_a_cap_is_known_to_a_release_with_shaped_noise(tmp_path: Path) -> None:
    mechanism = built(tmp_path, **CAPPED, filter=MODEL)
    assert isinstance(mechanism, ShapedRelease)
    assert mechanism.model == DeclaredModel((40.0, 40.0), (9.0, 12.0), 0.98)
    assert mechanism.buffers.weights[0] > 2**28
    [promised] = mechanism.guarantees()
    assert (promised.per, promised.window, promised.epsilon) == ("period", 24, 0.5)


def test_a_model_is_in_units_of_a_sum(tmp_path: Path) -> None:
    amounts = {"sum": {"field": "kwh", "lower": 0, "upper": 5, "unit": 0.1}}
    mechanism = built(tmp_path, **CAPPED, **amounts, filter=MODEL)
    assert isinstance(mechanism, ShapedRelease)
    assert mechanism.model.means == (400.0, 400.0)
    assert mechanism.sensitivity == 50


def test_a_history_is_a_model_under_a_cap_and_a_beginning_without_one(tmp_path: Path) -> None:
    history = [[10.0, 12, 15, 13], [3.0, 4, 4, 3]]
    capped = built(tmp_path, **CAPPED, filter={"history": history})
    assert isinstance(capped, ShapedRelease)
    assert capped.model == DeclaredModel.of_history(history)
    begun = built(tmp_path, horizon=20, filter={"history": history})
    assert isinstance(begun, RealTimeRelease)
    assert begun.start(1)["estimate"] == pytest.approx(np.array([[13.0, 3.0]]), abs=1e-3)


def test_weights_in_turn_are_those_of_the_release(tmp_path: Path) -> None:
    mechanism = built(tmp_path, horizon=20, filter={"weights": [1.0, 0.3]})
    assert isinstance(mechanism, RealTimeRelease)
    assert (mechanism.weight, mechanism.weights) == (None, (1.0, 0.3))


def test_falling_shares_are_one_for_each_value(tmp_path: Path) -> None:
    mechanism = built(tmp_path, horizon=16, shares="falling", filter="baseline")
    assert isinstance(mechanism, RealTimeRelease)
    assert (mechanism.shares[0], mechanism.shares[-1], len(mechanism.shares)) == (4.0, 1.0, 16)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"horizon": 20, "filter": MODEL}, "a model goes with contributions"),
        ({**CAPPED, "filter": {**MODEL, "deviation": [1, 2, 3]}}, "filter.deviation: has 3"),
        ({**CAPPED, "filter": {**MODEL, "deviation": 0}}, "filter.deviation: must be from"),
        ({**CAPPED, "filter": {**MODEL, "mean": 1e200}}, "filter.mean: must be from"),
        ({**CAPPED, "filter": {"mean": 3}}, "write all three, or history"),
        ({**CAPPED, "filter": {**MODEL, "history": [[1]]}}, "history: takes the place"),
        ({**CAPPED, "filter": {"history": [[1.0, 2, 3]]}}, "filter.history: has 1 lists"),
        ({"horizon": 9, "filter": {"history": [[1.0, 2, 3]]}}, "filter.history: has 1 lists"),
        ({"horizon": 9, "filter": {"history": [[1.0, 2, 3], [1]]}}, "filter.history: give equally"),
        ({"horizon": 9, "filter": {"history": [[1.0] * 10_001] * 2}}, "filter.history"),
        ({"horizon": 9, "filter": {"weight": 0.3, "weights": [0.3]}}, "write one of them"),
        ({"horizon": 100_001, "shares": "falling"}, "shares: falling goes with a horizon of at"),
        ({"period": 9, "shares": "falling"}, "shares: go with a horizon"),
    ],
)
def test_what_does_not_go_together_is_refused(
    changed: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        built(tmp_path, **changed)
