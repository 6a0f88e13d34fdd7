"""Compiled release laws equal those of numpy, bit for bit; so do predictions."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.budget_units import exact_exp, exact_expm1
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.privacy_bound import PrivacyBound, doubt
from fugu.operators.sip.stream_learning import StreamModels
from tests.operators.sip.equal_runs import ROWS, beliefs

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.parametrize("symbols", [2, 3, 5, 10, 16])
def test_compiled_laws_are_those_of_numpy(symbols: int) -> None:
    from fugu.operators.sip.compiled_law import CompiledLaw, predicted

    rng = np.random.default_rng(symbols)
    for epsilon in (0.05, 0.5, 1.0, 3.0, 40.0):
        bound, gain, growth = PrivacyBound.of(epsilon), exact_expm1(epsilon), exact_exp(epsilon)
        for rows in beliefs(symbols, rng):
            belief = np.ascontiguousarray(rows.T)
            proposal = HammingKernel(gain, growth).propose(belief)
            doubts = rng.choice([doubt(0.0, symbols), doubt(0.01, symbols), np.inf], size=ROWS)
            slow = IntegerLaw.of(belief, proposal, bound, bound.reserve(symbols), doubts)
            fast = CompiledLaw(belief, bound, doubts)
            truth = rng.integers(symbols, size=ROWS)
            words = rng.integers(2**64, size=ROWS, dtype=np.uint64)
            released = slow.draw(truth, words)
            assert fast.draw(truth, words).tolist() == released.tolist()
            assert fast.charge.tobytes() == slow.charge.tobytes()
            posterior = slow.posterior(released)
            assert fast.posterior(released).tobytes() == posterior.tobytes()
            chains = rng.dirichlet(np.ones(symbols), size=(ROWS, symbols))
            told = StreamModels(np.empty(0), np.moveaxis(chains, 0, -1)).predict(posterior)
            assert predicted(posterior, chains).tobytes() == told.T.tobytes()
