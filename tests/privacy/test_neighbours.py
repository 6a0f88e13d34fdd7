"""The neighbours that a promise names are those that epsilon protects, over all outputs.

One person counts in one of two groups, or in none, in each tick. The law is exact but for that of
the noise, which is taken as stated; outputs beyond the range that is followed tell truths apart by
the same ratio as those at its end.
"""

from itertools import product
from math import tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.guarantee import Change
from fugu.operators.mechanism import Floats
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.wevent.strategy import Strategy
from tests.dataflows.kinds.test_aggregate_section import read

EPSILON, TICKS = 2.0, 2
NONE, NORTH, SOUTH = (0, 0), (1, 0), (0, 1)
CONTRIBUTIONS = (NONE, NORTH, SOUTH)
OUTPUTS = np.arange(-6, 8)

Truth = tuple[tuple[int, int], ...]
TRUTHS: list[Truth] = list(product(CONTRIBUTIONS, repeat=TICKS))


def configured(tmp_path: Path, **changed: Any) -> Any:
    operator = {"kind": "uniform", "epsilon": EPSILON, "window": TICKS, **changed}
    return configure(read(tmp_path, operator)).mechanism


def likelihoods(strategy: Strategy) -> dict[Truth, Floats]:
    """ln of the likelihood of every sequence of outputs, by truth."""
    state = strategy.start(1)
    offer = strategy.rule.offer(state, np.zeros(1, dtype=np.bool_))
    price = int(offer.publication[0]) // strategy.sensitivity / UNITS_PER_NAT
    noise = {value: np.log(tanh(price / 2.0)) - price * np.abs(OUTPUTS - value) for value in (0, 1)}
    found = {}
    for truth in TRUTHS:
        likelihood = np.zeros(())
        for value in np.array(truth).ravel().tolist():
            likelihood = likelihood[..., None] + noise[value]
        found[truth] = likelihood
    return found


def are_neighbours(change: Change, one: Truth, other: Truth) -> bool:
    """By what the guarantee says may be other than it is."""
    if change == "presence":
        return all(a == b or NONE in (a, b) for a, b in zip(one, other, strict=True))
    assert change == "replaced-or-none"
    return True


def largest_loss(strategy: Strategy, change: Change) -> float:
    laws = likelihoods(strategy)
    return max(
        float((laws[one] - laws[other]).max())
        for one, other in product(TRUTHS, repeat=2)
        if are_neighbours(change, one, other)
    )


@pytest.mark.parametrize("protects", ["contribution", "presence"])
def test_the_neighbours_that_are_printed_are_protected_by_epsilon(
    protects: str, tmp_path: Path
) -> None:
    strategy = configured(tmp_path, protects=protects)
    [promise] = strategy.guarantees()
    assert largest_loss(strategy, promise.neighbours.change) == pytest.approx(EPSILON, rel=1e-9)
    assert ("another contribution" in in_words(promise)) == (protects == "contribution")


def test_where_noise_is_for_presence_a_replacement_costs_twice_epsilon(tmp_path: Path) -> None:
    """So that the words `replaced by another contribution` were false there."""
    strategy = configured(tmp_path, protects="presence")
    assert largest_loss(strategy, "replaced-or-none") == pytest.approx(2 * EPSILON, rel=1e-9)
    [promise] = strategy.guarantees()
    assert any("protected with twice epsilon" in str(line) for line in promise.not_covered)


@pytest.mark.parametrize("kind", ["binary_tree", "real_time"])
@pytest.mark.parametrize("protects", ["contribution", "presence"])
def test_no_kind_says_replaced_where_noise_is_for_presence(
    kind: str, protects: str, tmp_path: Path
) -> None:
    changed: dict[str, Any] = {"kind": kind, "horizon": 20, "protects": protects}
    if kind == "real_time":
        changed |= {"window": None, "delta": 1e-6, "epsilon": 4.0}
    mechanism = configured(tmp_path, **changed)
    for promise in mechanism.guarantees():
        assert ("another contribution" in in_words(promise)) == (protects == "contribution")
        assert (promise.neighbours.change == "presence") == (protects == "presence")


def test_what_is_measured_in_real_time_moves_one_bin_for_presence_and_two_for_a_move(
    tmp_path: Path,
) -> None:
    """A move costs two such changes in rho, too."""
    told = {"kind": "real_time", "window": None, "delta": 1e-6, "epsilon": 4.0, "horizon": 20}
    coming, moving = (
        configured(tmp_path, protects=protects, **told) for protects in ("presence", "contribution")
    )
    assert isinstance(coming, RealTimeRelease)
    assert (coming.changed_bins, moving.changed_bins) == (1, 2)
    assert coming.schedule.first > moving.schedule.first
