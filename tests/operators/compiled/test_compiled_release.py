"""The compiled step of conditional randomized response equals rounds of numpy, bit for bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from operators.mechanism import Array, Floats, Inputs
from operators.randomness import DrawScope, Secret, record_positions
from operators.runs import run_in_rounds
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.kernels import Mode
from operators.sip.markov_model import MarkovModel
from operators.sip.sparse_markov_model import SparseMarkovModel
from operators.sip.sparse_rows import SparseRows
from tests.operators import fixed_streams

ROWS, POSITIONS = 50, 250
ALPHABETS = (1, 2, 3, 5, 10, 64, 65, 256, 300)


def dense(symbols: int, rng: np.random.Generator) -> MarkovModel:
    rows = rng.dirichlet(np.full(symbols, 0.2), size=symbols)
    return MarkovModel.smoothed(rng.dirichlet(np.ones(symbols)), rows, smoothing=0.01)


def sparse(symbols: int, rng: np.random.Generator) -> SparseMarkovModel:
    rows = [
        ({int(rng.integers(symbols)): 0.75, symbol: 0.125}, 0.125)
        if rng.random() < 0.5
        else ({symbol: 1.0}, 0.0)
        for symbol in range(symbols)
    ]
    rows = [(entries, 1.0 - sum(entries.values())) for entries, _ in rows]
    return SparseMarkovModel(
        np.full(symbols, 1.0 / symbols), SparseRows.smoothed(rows, symbols, smoothing=0.01)
    )


def beliefs(symbols: int, rng: np.random.Generator) -> list[Floats]:
    """Uneven, certain, uniform, with ties and zeros, and with numbers that are hardly numbers."""
    shape = ROWS, symbols
    certain = np.zeros(shape)
    certain[np.arange(ROWS), rng.integers(symbols, size=ROWS)] = 1.0
    ties = rng.integers(0, 3, size=shape).astype(float)
    tiny = np.where(rng.random(shape) < 0.4, 1e-310, rng.random(shape))
    ties[:, 0] += 1.0
    tiny[:, -1] += 0.1
    return [
        rng.dirichlet(np.full(symbols, 0.1), size=ROWS),
        certain,
        np.full(shape, 1.0 / symbols),
        ties / ties.sum(axis=1, keepdims=True),
        tiny / tiny.sum(axis=1, keepdims=True),
    ]


def compare(crr: ConditionalRandomizedResponse, belief: Floats, seed: int) -> int:
    """How many releases both give."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random(POSITIONS) < 0.1, 0, rng.integers(ROWS, size=POSITIONS))
    truth = Inputs(rng.integers(crr.model.symbols, size=POSITIONS))
    scope = DrawScope(Secret(bytes(32)), "p", "crr", 1, crr.law_digest())
    keys = [b"user %d" % row for row in rows.tolist()]
    draws = scope.draws(keys, record_positions("t", 0, range(POSITIONS)))
    state = {**crr.start(ROWS), "belief": belief}
    total = None if seed % 2 else crr.largest_charge * 20
    assert crr.runs
    run = crr.run(state, rows, truth, draws, total)
    rounds = run_in_rounds(crr, state, rows, truth, draws, total)

    def columns(one: object) -> list[bytes]:
        assert isinstance(one, type(run))
        every: list[Array] = [*one.state.values(), one.ledger["spent"], one.paid]
        every += [one.releases.values, one.releases.annotations["confidence"]]
        return [column.tobytes() for column in every]

    assert columns(run) == columns(rounds)
    return int(run.paid.sum())


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
assert not compiled.available() and not KINDS["crr"].examples()[0].mechanism.runs
for kind in ("crr", "grr", "laplace", "oue"):
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
    kinds = ("crr", "grr", "laplace", "oue")
    assert finished.stdout == "".join(f"{kind} {fixed_streams.digest(kind)}\n" for kind in kinds)
