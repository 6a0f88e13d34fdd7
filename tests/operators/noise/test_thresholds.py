"""The integer constants of the Laplace sampler, derived a second time, and what they cost."""

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import exp, log2

import numpy as np
import pytest

from fugu.operators.noise.discrete_laplace import (
    LARGEST,
    PRECISION,
    SAMPLER,
    TOTAL_VARIATION,
    WORDS_PER_DRAW,
)
from tests.operators.noise import derivation

SMALL = 3
SMALL_SAMPLER = derivation.thresholds(SMALL)
SMALL_LARGEST = 2**9


def test_the_constants_are_the_derived_ones() -> None:
    assert derivation.thresholds(PRECISION) == SAMPLER
    assert len(SAMPLER.digits) == WORDS_PER_DRAW - 2


def test_the_constants_have_the_check_values_of_the_specification() -> None:
    assert (SAMPLER.digits[0], SAMPLER.digits[29]) == (9223371761976868864, 233613)
    assert SAMPLER.zero == 549755813888


@pytest.mark.parametrize(("precision", "printed"), [(24, -61.2), (20, -61.2), (8, -62.4)])
def test_the_total_variation_of_a_draw_is_the_printed_one(precision: int, printed: float) -> None:
    assert round(log2(derivation.total_variation_bound(precision)), 1) == printed


def test_the_stated_total_variation_is_an_upper_bound_and_hardly_above() -> None:
    bound = derivation.total_variation_bound(PRECISION)
    assert bound < Decimal(TOTAL_VARIATION) < bound * Decimal("1.001")
    assert TOTAL_VARIATION < 2.0**-61.2


def test_exhaustive_total_variation_is_within_the_bound() -> None:
    """All 2^10 - 1 values of the sampler with M = 3, from its integer thresholds."""
    reachable = range(-SMALL_LARGEST, SMALL_LARGEST + 1)
    ideal = {k: Fraction(derivation.laplace_probability(k, SMALL)) for k in reachable}
    sampled = {k: derivation.sampled_probability(k, SMALL_SAMPLER) for k in reachable}
    assert sum(sampled.values()) == 1
    tail = 1 - sum(ideal.values())
    distance = (sum(abs(sampled[k] - ideal[k]) for k in reachable) + tail) / 2
    bound = derivation.total_variation_bound(SMALL)
    assert round(log2(distance), 1) == -64.0
    assert round(log2(bound), 1) == -63.1
    assert 0 < distance <= Fraction(bound)


@pytest.mark.parametrize("shift", [1, 2, 8, 16, 40])
def test_exhaustive_privacy_loss_of_a_shift_is_within_the_claim(shift: int) -> None:
    """Indices that differ by s lose s / 2^M nats, up to the delta of finite precision."""
    sampled = {
        k: derivation.sampled_probability(k, SMALL_SAMPLER)
        for k in range(-SMALL_LARGEST, SMALL_LARGEST + 1)
    }
    growth = Fraction(exp(shift / 2**SMALL))
    excess = sum(
        max(Fraction(0), probability - growth * sampled.get(k + shift, Fraction(0)))
        for k, probability in sampled.items()
    )
    allowed = (1 + growth) * Fraction(derivation.total_variation_bound(SMALL))
    rounding_of_exp = growth * Fraction(1, 2**52)
    assert excess <= allowed + rounding_of_exp
    assert excess > 0


def test_probabilities_of_the_real_sampler_follow_the_law() -> None:
    for k in [0, 1, 2, 1000, 2**20 + 1, *np.random.default_rng(1).integers(2**27, size=50)]:
        ideal = Fraction(derivation.laplace_probability(int(k), PRECISION))
        sampled = derivation.sampled_probability(int(k), SAMPLER)
        assert abs(sampled / ideal - 1) < Fraction(1, 2**40)


def test_every_word_decides_at_its_threshold_and_nowhere_else() -> None:
    """All combinations of the sampler with M = 3, with words just below and just at thresholds."""
    digits, limits = len(SMALL_SAMPLER.digits), SMALL_SAMPLER.digits
    patterns = list(product([False, True], repeat=2 + digits))
    words = np.full((len(patterns), WORDS_PER_DRAW), 2**64 - 1, dtype=np.uint64)
    expected = []
    for row, (zero, negative, *ones) in enumerate(patterns):
        words[row, 0] = SMALL_SAMPLER.zero - zero
        words[row, 1] = 2**63 if negative else 2**63 - 1
        words[row, 2 : 2 + digits] = [t - one for t, one in zip(limits, ones, strict=True)]
        magnitude = 1 + sum(2**j for j, one in enumerate(ones) if one)
        expected.append(0 if zero else -magnitude if negative else magnitude)
    assert SMALL_SAMPLER.sample(words).tolist() == expected


def test_the_farthest_draws_are_two_to_the_thirty_steps_away() -> None:
    words = np.zeros((2, WORDS_PER_DRAW), dtype=np.uint64)
    words[:, 0] = 2**64 - 1
    words[1, 1] = 2**63
    assert SAMPLER.sample(words).tolist() == [LARGEST, -LARGEST]
