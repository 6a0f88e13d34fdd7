"""The most bins that there may be, with values and noise as far apart as they can be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from fugu.operators.mechanism import Inputs, Words
from fugu.operators.noise.unit_laplace import LARGEST, WORDS_PER_DRAW, sample
from fugu.operators.wevent.allocation import LARGEST_BINS, LARGEST_VALUE
from fugu.operators.wevent.spread_strategies import BudgetAbsorption
from fugu.operators.wevent.strategy import Strategy

UNIT = 2.0**-40
NONE = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Farthest:
    """The largest noise there is; below zero if `negative`."""

    negative: bool

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        words = np.zeros((len(binding), coordinates, 2, count // 2), dtype=np.uint64)
        words[:, :, int(not self.negative)] = NONE
        return words.reshape(len(binding), coordinates, count)


@pytest.mark.parametrize("negative", [False, True])
def test_the_farthest_vectors_are_told_apart_whatever_the_noise(negative: bool) -> None:
    strategy = BudgetAbsorption(LARGEST_BINS, window=1, epsilon=2 * UNIT, sensitivity=1)
    state = strategy.start(1)
    state["released"][:] = LARGEST_VALUE + LARGEST
    values = np.full((1, LARGEST_BINS), -(2**62))
    _, releases = strategy.step(state, Inputs(values), Farthest(negative))
    assert releases.annotations["published"].tolist() == [True]
    [noise] = set((releases.values + LARGEST_VALUE).ravel().tolist())
    assert noise == (1 - LARGEST if negative else LARGEST - 1)


def test_the_farthest_noise_is_what_the_draws_say() -> None:
    words = Farthest(negative=True).words("any", [b""], count=WORDS_PER_DRAW)
    assert sample(words, np.array([1])).tolist() == [[1 - LARGEST]]


def test_one_bin_more_is_refused() -> None:
    def strategy(bins: int) -> Strategy:
        return BudgetAbsorption(bins, window=1, epsilon=1.0, sensitivity=1)

    assert strategy(LARGEST_BINS).bins >= 2**17
    with pytest.raises(ValueError, match=r"^bins: must be from 1 to "):
        strategy(LARGEST_BINS + 1)
