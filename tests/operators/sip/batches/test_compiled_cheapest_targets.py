"""The compiled search for targets equals that of numpy, bit for bit, and neither ends too early."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches import sequence_law as search
from fugu.operators.sip.batches.likely_sequences import LikelySequences
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.privacy_bound import PrivacyBound
from tests.operators.sip.equal_runs import beliefs
from tests.privacy.chains import random_chain
from tests.thinned import first_in_test

SHAPES = [(1, 2), (2, 1), (2, 5), (3, 3), (5, 3), (10, 2)]
EPSILONS = (0.1, 1.0, 2.0, 5.0, 40.0)

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


def distances(symbols: int, rng: np.random.Generator) -> list[Distance]:
    """Also one in which two symbols are at the same place."""
    points = rng.random((symbols, 2))
    points[-1] = points[0]
    return [HAMMING, Ordered(), Points(points)]


def found(algorithm: LikelySequences, belief: Floats, by_numpy: bool) -> tuple[Integers, Floats]:
    from fugu.operators.sip.batches.compiled_likely_sequences import cheapest_targets_compiled

    prior, spread = (
        algorithm.prior(belief),
        algorithm.expected_distances(belief, algorithm.walk.of(None)),
    )
    chosen = search.cheapest_targets if by_numpy else cheapest_targets_compiled
    return chosen(prior, spread, algorithm.search)


@pytest.mark.slow
@pytest.mark.parametrize(("symbols", "window"), first_in_test(SHAPES, 5))
def test_compiled_search_and_one_that_never_ends_early_find_the_same(
    symbols: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([symbols, window])
    cases = [
        (LikelySequences(Walk(chain), window, distance, PrivacyBound.of(epsilon)), belief)
        for chain in [random_chain(rng, symbols)]
        for distance in distances(symbols, rng)
        for epsilon in EPSILONS
        for belief in (np.ascontiguousarray(rows.T) for rows in beliefs(symbols, rng))
    ]
    fast = [found(*case, by_numpy=False) for case in cases]
    slow = [found(*case, by_numpy=True) for case in cases]
    monkeypatch.setattr(search, "SURELY", 1e100)
    whole = [found(*case, by_numpy=True) for case in cases]
    for some in zip(fast, slow, whole, strict=True):
        assert len({targets.tobytes() + cost.tobytes() for targets, cost in some}) == 1
