"""The law of one delay (G1), exactly, by following `step` through every draw."""

from math import log

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.temporal.dispatch_law import derived_budget, free_chances
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import (
    ExtendedThresholdPerturbation,
    ThresholdDispatch,
    ThresholdPerturbation,
)
from tests.privacy.temporal.paths import Paths, merged, stationary, steady

THRESHOLDS = [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4), (6, 3), (9, 4), (10, 5), (10, 7)]
EXTENDED = [(4, 1.0), (5, 0.5), (5, 1.0), (5, 1.5), (10, 1.0), (10, 3.0)]


def delays(before: Paths) -> Floats:
    """P(the value of the next tick waits j ticks), j = 0..k-1; whatever is left is dropped."""
    mechanism, tick = before.mechanism, before.state["tick"][0]
    after = before.after([b"1"])
    law = np.zeros(mechanism.k)
    law[0] = after.weight[after.released[:, -1] == 1].sum()
    path, slot = np.nonzero(after.state["slots"] == b"1")
    np.add.at(law, (slot - tick) % mechanism.k, after.weight[path])
    return law


@pytest.mark.parametrize(("k", "c0"), THRESHOLDS)
def test_the_first_occupancy_is_drawn_from_the_stationary_law(k: int, c0: int) -> None:
    """The chances that `step` compares words with multiply to the weights, one for one."""
    chances, (occupancies, law) = free_chances(k, c0), stationary(k, c0)
    for occupied, expected in zip(occupancies.tolist(), law, strict=True):
        drawn, left = 1.0, c0
        for slot, reserved in enumerate(occupied):
            free = chances[k - slot, left]
            drawn *= 1.0 - free if reserved else free
            left -= not reserved
        assert drawn == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("accepted", [1.0, 0.3])
@pytest.mark.parametrize(("k", "c0"), THRESHOLDS)
def test_the_steady_state_stays_as_it_is(k: int, c0: int, accepted: float) -> None:
    """Keep the steady state whether or not values are dropped, by TM and ETM alike."""
    before = steady(ExtendedThresholdPerturbation(k=k, c0=c0, acceptance=accepted))
    after = merged(before.after([b"1"]))
    from_here = np.roll(after.state["occupied"], -1, axis=1)
    law = {row.tobytes(): weight for row, weight in zip(from_here, after.weight, strict=True)}
    expected = zip(before.state["occupied"], before.weight, strict=True)
    assert law == pytest.approx({row.tobytes(): weight for row, weight in expected}, rel=1e-12)


@pytest.mark.parametrize(("k", "c0"), THRESHOLDS)
def test_delays_of_the_threshold_mechanism_have_the_law_that_is_claimed(k: int, c0: int) -> None:
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    law = delays(steady(mechanism))
    assert law == pytest.approx(mechanism.delay_law, rel=1e-12)
    keeps_its_bound(mechanism, law)


@pytest.mark.parametrize(("k", "epsilon"), EXTENDED)
def test_delays_of_published_values_keep_the_bound_of_the_extended_mechanism(
    k: int, epsilon: float
) -> None:
    mechanism = ExtendedThresholdPerturbation.for_budget(k, epsilon)
    law = delays(steady(mechanism))
    assert 1.0 - law.sum() == pytest.approx(mechanism.expected.missing, rel=1e-12)
    assert law / law.sum() == pytest.approx(mechanism.delay_law, rel=1e-12)
    keeps_its_bound(mechanism, law)


def keeps_its_bound(mechanism: ThresholdDispatch, law: Floats) -> None:
    [promise] = mechanism.guarantees()
    assert 2.0 * log(law.max() / law.min()) == pytest.approx(promise.epsilon, abs=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        BackwardPerturbation(k=4, epsilon=1.0),
        ForwardPerturbation(k=4, epsilon=1.0, calibrate="nominal", warm_up="emit"),
        ForwardPerturbation(k=4, epsilon=4.0, warm_up="emit"),
    ],
)
def test_lags_that_are_seen_have_the_law_that_is_claimed(mechanism: TemporalPerturbation) -> None:
    """Check the release at tick k, which can come from k values."""
    paths = Paths(mechanism, mechanism.start(1), np.ones(1), np.zeros((1, 0), dtype=np.int64))
    paths = paths.after([b"%d" % tick for tick in range(1, mechanism.k + 1)])
    source = paths.released[:, -1]
    seen = source > 0
    law = np.zeros(mechanism.k)
    np.add.at(law, mechanism.k - source[seen], paths.weight[seen])
    assert law.sum() == pytest.approx(1.0 - mechanism.expected.empty, rel=1e-12)
    assert law / law.sum() == pytest.approx(mechanism.delay_law, rel=1e-12)
    [promise] = mechanism.guarantees()
    assert 2.0 * log(law.max() / law.min()) == pytest.approx(promise.epsilon, abs=1e-9)


def test_a_cold_start_breaks_the_bound_for_a_while() -> None:
    """k = 10, c0 = 7: 4.975 nats at tick 7, where 4.595 are derived; so nothing is promised."""
    mechanism = ThresholdPerturbation(k=10, c0=7, start_mode="cold", warm_up="emit")
    paths = Paths(mechanism, mechanism.start(1), np.ones(1), np.zeros((1, 0), dtype=np.int64))
    budgets = []
    for _ in range(60):
        law = delays(paths)
        budgets.append(2.0 * log(law.max() / law.min()))
        paths = merged(paths.after([b"1"]))
    assert round(max(budgets), 3) == round(budgets[6], 3) == 4.975
    assert max(budgets[9:20]) > derived_budget(10, 7) + 0.06
    assert budgets[-1] == pytest.approx(derived_budget(10, 7), abs=1e-4)
    assert not mechanism.guarantees()[0].sound
