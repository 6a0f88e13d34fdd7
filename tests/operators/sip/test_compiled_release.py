"""The compiled step of conditional randomized response equals rounds of numpy, bit for bit."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.kernels import Mode
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.sip.chains import random_second_order
from tests.operators.sip.equal_runs import ROWS, beliefs, compare, dense, sparse
from tests.pins import pinned
from tests.thinned import first_in_test

MODES: tuple[Mode, ...] = ("optimal", "full_support")
IN_TEST = [*product((2, 5), MODES), (65, "full_support"), (256, "optimal")]
CASES = sorted(
    product((1, 2, 3, 5, 10, 64, 65, 256, 300), MODES), key=lambda one: one not in IN_TEST
)


@pytest.mark.slow
@pytest.mark.parametrize(("symbols", "mode"), first_in_test(CASES, len(IN_TEST)))
def test_compiled_and_numpy_give_the_same_bits(symbols: int, mode: Mode) -> None:
    """More than 100,000 releases over all alphabets."""
    rng, released = np.random.default_rng(symbols), 0
    for epsilon in (0.001, 0.7, 15.0, 50.0):
        for model in (dense(symbols, rng), sparse(symbols, rng)):
            crr = ConditionalRandomizedResponse(model, epsilon, mode=mode)
            for seed, belief in enumerate(beliefs(symbols, rng)):
                released += compare(crr, belief, seed)
    assert released > 7_200


@pytest.mark.parametrize("epsilon", [0.7, 36.0, 50.0])
def test_compiled_and_numpy_count_predictions_alike(epsilon: float) -> None:
    """A chain that all but never moves; some beliefs may be so far off that nothing is released."""
    rng, symbols = np.random.default_rng(3), 4
    model = MarkovModel.smoothed(np.full(symbols, 0.25), np.eye(symbols), smoothing=1e-14)
    for mechanism in (
        ConditionalRandomizedResponse(model, epsilon),
        AdaptiveRelease(model, epsilon, epsilon, "steps"),
    ):
        counted = rng.integers(2 ** rng.integers(1, 60, size=ROWS))
        for seed, belief in enumerate(beliefs(symbols, rng)):
            assert compare(mechanism, belief, seed, predictions=counted) > 0


@pytest.mark.parametrize("mode", ["optimal", "full_support"])
def test_steps_in_time_have_compiled_laws_with_the_bits_of_numpy(mode: Mode) -> None:
    """With gaps, and with chains of second order, where whole runs are not compiled."""
    rng = np.random.default_rng(7)
    for model in (dense(5, rng), random_second_order(3, 5, seed=2).model()):
        mechanism = ConditionalRandomizedResponse(model, 1.3, mode=mode, gaps=Gaps(1, longest=9))
        assert not mechanism.runs
        scope = DrawScope(Secret(bytes(32)), "p", "crr", 1, mechanism.law_digest())
        fast = slow = mechanism.start(40)
        for step in range(25):
            ticks = rng.integers(4 * step, 4 * step + 9, size=40)
            truth = Inputs(rng.integers(model.symbols, size=40))
            draws = scope.draws([b"user"] * 40, record_positions("t", step, range(40)))
            fast, released = mechanism.step(mechanism.elapse(fast, ticks), truth, draws)
            slow, expected = Interpreted(model, 1.3, mode=mode, gaps=mechanism.gaps).step(
                mechanism.elapse(slow, ticks), truth, draws
            )
            assert released.values.tolist() == expected.values.tolist()
            assert {n: c.tobytes() for n, c in fast.items()} == {
                n: c.tobytes() for n, c in slow.items()
            }


class Interpreted(ConditionalRandomizedResponse):
    """The same without compiled laws."""


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
from fugu.operators import compiled
from tests.conformance.kinds import KINDS
from tests.operators import fixed_streams
from tests.thinned import first_in_test
kinds = ("adaptive_crr", "crr", "grr", "laplace", "oue")
assert not compiled.available()
assert not any(KINDS[kind].examples()[0].mechanism.runs for kind in kinds[:2])
for kind in kinds:
    print(kind, fixed_streams.digest(kind))
"""


@pytest.mark.slow
def test_a_process_without_numba_gives_the_same_bytes() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = ("adaptive_crr", "crr", "grr", "laplace", "oue")
    assert finished.stdout == "".join(f"{kind} {pinned()[kind]}\n" for kind in kinds)
