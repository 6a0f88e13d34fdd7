"""The law of bits is found by driving the real step, whatever it says about itself."""

from math import log

import numpy as np
import pytest

from fugu.operators.auditing.steps_as_drawn import bit_law
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding


@pytest.mark.parametrize(("symbols", "epsilon"), [(2, 0.3), (5, 1.0), (17, 4.0)])
def test_thresholds_are_those_that_are_declared(symbols: int, epsilon: float) -> None:
    oue = OptimizedUnaryEncoding(symbols, epsilon)
    law = bit_law(oue, symbols, symbols)
    truth = np.eye(symbols, dtype=bool)
    assert law.independent
    words = np.where(truth, np.uint64(2**63), np.uint64(oue.odds.each))
    assert (law.words.astype(np.uint64) == words).all()
    assert law.losses.max() == pytest.approx(log((2**64 - oue.odds.each) / oue.odds.each))


class CopiesTheFirstBit(OptimizedUnaryEncoding):
    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        values = releases.values.copy()
        values[:, 1] |= values[:, 0]
        return after, Releases(values)


class AlwaysSet(OptimizedUnaryEncoding):
    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        truth = np.arange(self.symbols) == inputs.values[:, None]
        return after, Releases(releases.values | truth)


def test_bits_that_depend_on_each_other_are_noticed() -> None:
    assert not bit_law(CopiesTheFirstBit(3, 1.0), 3, 3).independent


def test_a_bit_that_is_always_set_has_all_words_and_an_infinite_loss() -> None:
    law = bit_law(AlwaysSet(3, 1.0), 3, 3)
    assert law.independent
    assert law.words[0, 0] == 2**64
    assert np.isinf(law.losses[1, 0])


def test_a_step_that_draws_otherwise_cannot_be_driven() -> None:
    with pytest.raises(ValueError, match="cannot be driven"):
        bit_law(GeneralizedRandomizedResponse(3, 1.0), 3, 3)
