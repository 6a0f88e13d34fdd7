"""Compiled probabilities of batches have the bits of numpy's."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.sip.batches.likely_sequences import LikelySequences
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Distance, Ordered
from fugu.operators.sip.privacy_bound import PrivacyBound
from tests.operators.sip.equal_runs import beliefs, dense

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.parametrize(("symbols", "window"), [(2, 1), (3, 4), (10, 2), (5, 3)])
@pytest.mark.parametrize("distance", [HAMMING, Ordered()])
def test_compiled_and_numpy_give_the_same_bits(
    symbols: int, window: int, distance: Distance
) -> None:
    from fugu.operators.sip.batches.compiled_likely_sequences import spelled_out

    rng = np.random.default_rng(symbols)
    model = dense(symbols, rng)
    likely = LikelySequences(Walk(model), window, distance, PrivacyBound.of(1.0))
    for believed in beliefs(symbols, rng):
        belief = np.ascontiguousarray(believed.T)
        prior, spread = spelled_out(belief, likely.digits, likely.walk.power(1), likely.table)
        assert (prior == likely.prior(belief)).all()
        assert (spread == likely.expected_distances(belief, likely.walk.of(None))).all()
