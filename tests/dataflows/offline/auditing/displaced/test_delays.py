"""Laws of delays that are found by following every draw: those of the specification."""

from math import exp

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.displaced.delays import exact_delays
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation


def found(mechanism: TemporalPerturbation, reach: int | None = None) -> Floats:
    law = exact_delays(mechanism, mechanism.k - 1 if reach is None else reach)
    assert law is not None
    return law


@pytest.mark.parametrize(
    ("k", "c0", "shares"),
    [
        (3, 2, [1, 1, 1]),
        (4, 2, [1, 1, 2, 3]),
        (5, 3, [7, 3, 4, 5, 6]),
        (5, 4, [6, 1, 1, 1, 1]),
        (6, 3, [15, 7, 10, 14, 19, 25]),
    ],
)
def test_delays_of_the_threshold_mechanism_have_the_printed_law(
    k: int, c0: int, shares: list[int]
) -> None:
    law = np.array(shares) / sum(shares)
    assert found(ThresholdPerturbation(k=k, c0=c0)) == pytest.approx(law, rel=1e-12)
    dropping = ExtendedThresholdPerturbation(k=k, c0=c0, acceptance=0.25)
    law[0] *= 0.25
    assert found(dropping) == pytest.approx(law, rel=1e-12)


def test_a_backward_release_is_of_its_own_tick_with_p0_and_of_any_other_with_p1() -> None:
    rarer = exp(-0.75)
    law = found(BackwardPerturbation(k=4, epsilon=1.5))
    assert law == pytest.approx(np.array([1, rarer, rarer, rarer]) / (1 + 3 * rarer), rel=1e-12)


def test_forward_values_that_wait_longer_are_overwritten_more_often() -> None:
    rarer = exp(-0.5)
    none, each = 1 / (1 + 2 * rarer), rarer / (1 + 2 * rarer)
    law = found(ForwardPerturbation(k=3, epsilon=1.0, calibrate="nominal"))
    seen = [none, each * (1 - none), each * (1 - none) * (1 - each)]
    assert law == pytest.approx(seen, rel=1e-12)


def test_no_value_leaves_later_than_its_window() -> None:
    assert found(ThresholdPerturbation(k=4, c0=3), reach=6)[4:].tolist() == [0.0, 0.0, 0.0]
    assert found(BackwardPerturbation(k=2, epsilon=1.0), reach=3)[2:].tolist() == [0.0, 0.0]


def test_words_are_counted_to_the_last_one() -> None:
    """With 50 nats a delay has 1 word in 10^11, and none has one more than another."""
    mechanism = BackwardPerturbation(k=6, epsilon=50.0)
    each = mechanism.odds.each / 2**64
    assert found(mechanism)[1:] == pytest.approx([each] * 5, rel=1e-14)


def test_too_many_reserved_slots_are_not_followed() -> None:
    assert exact_delays(ThresholdPerturbation(k=20, c0=10), 19) is None
