"""ToPL: the threshold of the specification, and releases that are cut off at it."""

import numpy as np
import pytest

from fugu.operators.local_numbers.learned_threshold import LearnedThreshold
from fugu.operators.local_numbers.square_wave import BINS
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret


def plain_threshold(shares: np.ndarray, variance: float, remaining: int) -> float:
    """Return the minimum of the error of section 9, term by term."""
    middles = (np.arange(BINS) + 0.5) / BINS
    errors = []
    for end in np.arange(1, BINS + 1) / BINS:
        cut = sum(h * (v - end) for h, v in zip(shares, middles, strict=True) if v >= end)
        errors.append(remaining * variance * end**2 / 3.0 + remaining**2 / 24.0 * cut**2)
    return (int(np.argmin(errors)) + 1) / BINS


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("remaining", [100, 10_000, 1_000_000])
def test_the_threshold_is_where_noise_and_what_is_cut_off_err_least(
    epsilon: float, remaining: int
) -> None:
    topl = LearnedThreshold(0, 1000, epsilon, 1, 100)
    shares = np.random.default_rng(1).dirichlet(np.linspace(5.0, 0.05, BINS))
    expected = plain_threshold(shares, topl.hybrid.variance, remaining)
    assert topl.threshold(shares, remaining) == expected


def test_first_numbers_have_no_release_and_the_mean_of_the_others_is_right() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(100, 300, 40_000)
    topl = LearnedThreshold(0, 4_000, 4.0, 2, 4_000)
    scope = DrawScope(Secret(bytes(32)), "test", topl.kind, 1, topl.law_digest())
    keys = [b"user-%d" % number for number in range(len(values))]
    draws = scope.draws(keys, record_positions("numbers", 0, range(len(values))))
    _, releases = topl.step({}, Inputs(values), draws)
    assert releases.kinds is not None
    assert (releases.kinds[:4_000] == Kind.SUPPRESSED).all()
    assert (releases.kinds[4_000:] == Kind.FRESH).all()
    told = releases.values[4_000:]
    assert told.mean() == pytest.approx(values[4_000:].mean() / 2.0, rel=0.03)
    wide = topl.hybrid.variance**0.5 * 4_000 / 2.0 / 2.0
    assert told.std() < wide / 5.0


def test_it_claims_epsilon_for_each_number() -> None:
    [promise] = LearnedThreshold(0, 10, 0.7, 1, 5).guarantees()
    assert (promise.notion, promise.epsilon, promise.per) == ("ldp", 0.7, "release")
