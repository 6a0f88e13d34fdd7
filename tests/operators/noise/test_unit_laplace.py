"""Noise on the grid of units: its constants, its exact law, and what it costs."""

from decimal import Decimal, localcontext
from math import exp, tanh

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.noise import unit_laplace
from fugu.operators.noise.unit_laplace import LARGEST, TOTAL_VARIATION, WORDS_PER_DRAW, sample
from tests.operators.noise import derivation
from tests.operators.noise.simulated import SMALLEST_P_VALUE, SimulatedDraws, p_value

PRECISION = 40
DRAWS = 100_000


def two_sided_geometric(x: float, largest: int) -> Floats:
    """P(-largest), ..., P(largest)."""
    return tanh(x / 2.0) * np.exp(-np.abs(np.arange(-largest, largest + 1)) * x)


def test_the_constants_are_the_derived_ones() -> None:
    probabilities = derivation.digit_probabilities(PRECISION)
    assert tuple(map(derivation.threshold, probabilities)) == unit_laplace._DIGITS


def test_the_stated_total_variation_is_an_upper_bound_and_hardly_above() -> None:
    with localcontext() as context:
        context.prec = derivation.DIGITS
        errors = [
            abs(Decimal(derivation.threshold(probability)) / derivation.WORD - probability)
            for probability in derivation.digit_probabilities(PRECISION)
        ]
        of_two = 2 * sum(errors, Decimal(-64).exp())
    assert of_two < Decimal(TOTAL_VARIATION) < of_two * Decimal("1.001")


def test_every_word_decides_at_its_threshold_and_nowhere_else() -> None:
    """Digit after digit of both numbers, with words just below and just at thresholds."""
    words = np.array(2 * unit_laplace._DIGITS, dtype=np.uint64)
    digits = WORDS_PER_DRAW // 2
    assert sample(words[None], np.ones(1, dtype=np.int64)).tolist() == [0]
    for word in range(WORDS_PER_DRAW):
        below = words.copy()
        below[word] -= np.uint64(1)
        power = 2 ** (word % digits)
        expected = power if word < digits else -power
        assert sample(below[None], np.ones(1, dtype=np.int64)).tolist() == [expected]


def test_quotients_are_rounded_before_the_difference() -> None:
    words = np.full((1, WORDS_PER_DRAW), 2**64 - 1, dtype=np.uint64)
    words[0, [0, 2, WORDS_PER_DRAW // 2 + 1]] = 0
    assert [int(sample(words, np.array([price]))[0]) for price in (1, 2, 3, 5, 6)] == [
        3,
        1,
        1,
        1,
        0,
    ]


def test_no_draw_is_farther_than_the_largest() -> None:
    words = np.full((2, WORDS_PER_DRAW), 2**64 - 1, dtype=np.uint64)
    words[0, : WORDS_PER_DRAW // 2] = 0
    words[1, WORDS_PER_DRAW // 2 :] = 0
    assert sample(words, np.ones(2, dtype=np.int64)).tolist() == [LARGEST - 1, 1 - LARGEST]


@pytest.mark.parametrize("nats", [0.05, 1.0, 3.0])
def test_draws_have_the_law_of_their_price(nats: float) -> None:
    """Fails by chance with a probability below 1 in 10,000, three times."""
    words = SimulatedDraws(np.random.default_rng(40)).words("", [b""] * DRAWS, count=WORDS_PER_DRAW)
    price = np.full((DRAWS, 1), int(nats * 2**40))
    largest = max(1, int(4.0 / nats))
    drawn = np.clip(sample(words, price)[:, 0], -largest - 1, largest + 1) + largest + 1
    law = two_sided_geometric(nats, largest)
    tail = exp(-nats * (largest + 1)) / (1.0 + exp(-nats))
    assert p_value(drawn, np.concatenate([[tail], law, [tail]])) > SMALLEST_P_VALUE


def test_rows_have_prices_of_their_own() -> None:
    words = SimulatedDraws(np.random.default_rng(2)).words("", [b""] * 3, count=WORDS_PER_DRAW)
    together = sample(words, np.array([[2**30], [2**35], [2**20]]))
    apart = [sample(words[i : i + 1], np.array([[2 ** [30, 35, 20][i]]])) for i in range(3)]
    assert together.tolist() == np.concatenate(apart).tolist()
