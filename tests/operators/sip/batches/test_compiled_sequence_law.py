"""The compiled law of likely sequences equals that of numpy, bit for bit."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.sip.batches.likely_sequences import LikelySequences
from fugu.operators.sip.batches.sequence_law import SequenceLaw
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Ordered
from fugu.operators.sip.integer_law import SharesLaw
from fugu.operators.sip.privacy_bound import PrivacyBound
from tests.operators.sip.equal_runs import ROWS, beliefs, dense

SHAPES = [(1, 2), (2, 1), (2, 5), (3, 3), (10, 2), (5, 3)]
EPSILONS = (0.1, 1.0, 2.0, 5.0, 40.0)
DISTANCES = (0.0, 1e-12, 1e-6, 0.01, 0.2)
"""The last one leaves a constant."""

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


def compare_words(fast: SequenceLaw, slow: SharesLaw) -> None:
    """U and G of every row that is not constant, and which rows are."""
    from fugu.operators.sip.batches.compiled_likely_sequences import CompiledSequenceLaw

    assert isinstance(fast, CompiledSequenceLaw)
    laws = fast.laws
    varies = ~slow.constant
    assert (laws.constants < 0).tolist() == varies.tolist()
    assert laws.constants[slow.constant].tolist() == slow.top[slow.constant].tolist()
    assert laws.totals[varies].tolist() == slow.total[varies].tolist()
    assert laws.commons[varies].tolist() == slow.common.T[varies].tolist()


@pytest.mark.parametrize(("symbols", "window"), SHAPES)
def test_compiled_law_is_that_of_numpy(symbols: int, window: int) -> None:
    from fugu.operators.sip.batches.compiled_likely_sequences import CompiledSequenceLaw

    rng = np.random.default_rng([symbols, window])
    model, kept = dense(symbols, rng), set()
    for distance in (HAMMING, Ordered()):
        for epsilon in EPSILONS:
            algorithm = LikelySequences(Walk(model), window, distance, PrivacyBound.of(epsilon))
            for rows in beliefs(symbols, rng):
                distances = rng.choice(DISTANCES, ROWS)
                fast = algorithm.law(np.ascontiguousarray(rows.T), distances)
                given = (fast.prior, fast.targets, fast.cost, fast.doubts)
                slow = SequenceLaw(fast.walk, fast.bound, fast.digits, *given)
                assert type(fast) is CompiledSequenceLaw
                kept.update(slow.law.support.sum(axis=0).tolist())
                batches = rng.integers(symbols, size=(window, ROWS))
                words = rng.integers(2**64, size=(1, ROWS), dtype=np.uint64)
                shown = slow.release(batches, words)
                assert fast.release(batches, words).tolist() == shown.tolist()
                compare_words(fast, slow.law)
                assert fast.charge.tolist() == slow.charge.tolist()
                assert fast.learned(shown).tobytes() == slow.learned(shown).tobytes()
    assert min(kept) == 1
    assert len(kept) > 1 or symbols == 1
