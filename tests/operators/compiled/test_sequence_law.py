"""The compiled law of likely sequences equals that of numpy, bit for bit."""

import numpy as np
import pytest

from operators import compiled
from operators.nats import exact_exp, exact_expm1
from operators.sip.batches.likely_sequences import LikelySequences, SequenceLaw
from operators.sip.distances import HAMMING, Ordered
from tests.operators.compiled.equal_runs import ROWS, beliefs, dense

SHAPES = [(1, 2), (2, 1), (2, 5), (3, 3), (10, 2), (5, 3)]
EPSILONS = (0.1, 1.0, 2.0, 5.0, 40.0)

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.parametrize(("symbols", "window"), SHAPES)
def test_compiled_law_is_that_of_numpy(symbols: int, window: int) -> None:
    from operators.sip.batches.compiled_sequences import CompiledSequenceLaw

    rng = np.random.default_rng([symbols, window])
    model, kept = dense(symbols, rng), set()
    for distance in (HAMMING, Ordered()):
        for epsilon in EPSILONS:
            gain, growth = exact_expm1(epsilon), exact_exp(epsilon)
            algorithm = LikelySequences(model, window, distance, gain, growth)
            for rows in beliefs(symbols, rng):
                fast = algorithm.law(np.ascontiguousarray(rows.T))
                slow = SequenceLaw(algorithm, fast.prior, fast.targets, fast.cost)
                assert type(fast) is CompiledSequenceLaw
                kept.update(slow.law.proposal.support.sum(axis=0).tolist())
                batches = rng.integers(symbols, size=(window, ROWS))
                uniforms = rng.random((1, ROWS))
                shown = slow.release(batches, uniforms)
                assert fast.release(batches, uniforms).tolist() == shown.tolist()
                assert fast.charge.tolist() == slow.charge.tolist()
                assert fast.learned(shown).tobytes() == slow.learned(shown).tobytes()
    assert min(kept) == 1
    assert len(kept) > 1 or symbols == 1
