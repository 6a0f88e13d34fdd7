"""Statistics of Laplace draws; each test fails by chance with a probability below 3 in 1,000."""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.noise.discrete_laplace import PRECISION, SAMPLER, WORDS_PER_DRAW, Thresholds
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.operators.noise import derivation
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value

SMALL = 4
SMALL_SAMPLER = derivation.thresholds(SMALL)
DRAWS, CHUNK = 1_000_000, 100_000


@pytest.fixture(scope="module")
def simulated() -> tuple[Integers, Integers]:
    """A million draws of the sampler with M = 4, and of the real one, from the same words."""
    rng = np.random.default_rng(20)
    samplers: Sequence[Thresholds] = (SMALL_SAMPLER, SAMPLER)
    drawn: list[list[Integers]] = [[], []]
    for _ in range(DRAWS // CHUNK):
        words = rng.integers(2**64, size=(CHUNK, WORDS_PER_DRAW), dtype=np.uint64)
        for sampler, found in zip(samplers, drawn, strict=True):
            found.append(sampler.sample(words))
    return np.concatenate(drawn[0]), np.concatenate(drawn[1])


def law(largest: int) -> Floats:
    """P(<= -largest), P(-largest + 1), ..., P(>= largest)."""
    middle = [float(derivation.laplace_probability(k, SMALL)) for k in range(1 - largest, largest)]
    tail = (1.0 - sum(middle)) / 2.0
    return np.array([tail, *middle, tail])


def test_a_million_draws_follow_the_law(simulated: tuple[Integers, Integers]) -> None:
    drawn = np.clip(simulated[0], -130, 130) + 130
    assert p_value(drawn, law(130)) > SMALLEST_P_VALUE


def test_draws_from_keyed_words_follow_the_law() -> None:
    rows = 20_000
    scope = DrawScope(Secret(bytes(32)), "p", "o", 1, bytes(32))
    draws = scope.draws([b"key"] * rows, record_positions("t", 0, range(rows)))
    words = draws.words("release", [binding_digest(0)] * rows, count=WORDS_PER_DRAW)
    drawn = np.clip(SMALL_SAMPLER.sample(words)[:, 0], -60, 60) + 60
    assert p_value(drawn, law(60)) > SMALLEST_P_VALUE


@pytest.mark.parametrize(("which", "precision"), [(0, SMALL), (1, PRECISION)])
def test_the_mean_is_zero_and_the_variance_twice_the_squared_scale(
    simulated: tuple[Integers, Integers], which: int, precision: int
) -> None:
    drawn, scale = simulated[which], 2.0**precision
    assert abs(drawn.mean()) < 3.0 * np.sqrt(2.0 * scale**2 / DRAWS)
    assert abs(drawn.var() / (2.0 * scale**2) - 1.0) < 0.01


def test_draws_have_the_shape_of_their_words() -> None:
    words = np.random.default_rng(1).integers(2**64, size=(5, 3, WORDS_PER_DRAW), dtype=np.uint64)
    drawn = SAMPLER.sample(words)
    assert drawn.shape == (5, 3)
    assert drawn.dtype == np.int64
    assert [SAMPLER.sample(words[row : row + 1])[0].tolist() for row in range(5)] == drawn.tolist()
    assert SAMPLER.sample(words[:0]).shape == (0, 3)
