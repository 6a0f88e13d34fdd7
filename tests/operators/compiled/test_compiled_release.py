"""The compiled step of conditional randomized response equals rounds of numpy, bit for bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from operators.mechanism import Inputs
from operators.randomness import DrawScope, record_positions
from operators.secret import Secret
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.kernels import Mode
from tests.operators import fixed_streams
from tests.operators.compiled.equal_runs import beliefs, compare, dense, sparse

ALPHABETS = (1, 2, 3, 5, 10, 64, 65, 256, 300)


@pytest.mark.parametrize("mode", ["optimal", "full_support"])
@pytest.mark.parametrize("symbols", ALPHABETS)
def test_compiled_and_numpy_give_the_same_bits(symbols: int, mode: Mode) -> None:
    """More than 100,000 releases over all alphabets."""
    rng, released = np.random.default_rng(symbols), 0
    for epsilon in (0.001, 0.7, 15.0):
        for model in (dense(symbols, rng), sparse(symbols, rng)):
            crr = ConditionalRandomizedResponse(model, epsilon, mode=mode)
            for seed, belief in enumerate(beliefs(symbols, rng)):
                released += compare(crr, belief, seed)
    assert released > 7_200


def test_a_damaged_belief_is_refused_and_nothing_is_done() -> None:
    crr = ConditionalRandomizedResponse(dense(3, np.random.default_rng(1)), 1.0)
    scope = DrawScope(Secret(bytes(32)), "p", "crr", 1, crr.law_digest())
    for damage in (-0.1, 0.9, np.nan):
        state = crr.start(4)
        state["belief"][2, 1] = damage
        draws = scope.draws([b"a", b"b"], record_positions("t", 0, range(2)))
        with pytest.raises(ValueError, match="the belief of row 2 is not a distribution"):
            crr.run(state, np.array([1, 2]), Inputs(np.array([0, 1])), draws)


def test_a_symbol_outside_the_alphabet_is_refused() -> None:
    crr = ConditionalRandomizedResponse(dense(3, np.random.default_rng(1)), 1.0)
    scope = DrawScope(Secret(bytes(32)), "p", "crr", 1, crr.law_digest())
    draws = scope.draws([b"a"], record_positions("t", 0, range(1)))
    with pytest.raises(ValueError, match=r"outside 0\.\.2"):
        crr.run(crr.start(1), np.array([0]), Inputs(np.array([3])), draws)


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from operators import compiled
from operators.registry import KINDS
from tests.operators import fixed_streams
kinds = ("adaptive_crr", "crr", "grr", "laplace", "oue")
assert not compiled.available()
assert not any(KINDS[kind].examples()[0].mechanism.runs for kind in kinds[:2])
for kind in kinds:
    print(kind, fixed_streams.digest(kind))
"""


def test_a_process_without_numba_gives_the_same_bytes() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = ("adaptive_crr", "crr", "grr", "laplace", "oue")
    assert finished.stdout == "".join(f"{kind} {fixed_streams.digest(kind)}\n" for kind in kinds)
