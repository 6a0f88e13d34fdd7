"""The step that peers share has the law of Fugu's operator, with numba and without."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

PEERS = Path(__file__).parents[2] / "bench" / "peers"
SMOOTHING = 0.001
ACCURACY = 1e-10
"""The operator's law pays a little accuracy for what its belief may be off by; peers do not."""


@pytest.fixture(params=["compiled", "python"])
def peer_step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class, for one of the two ways to compute."""
    monkeypatch.syspath_prepend(PEERS)
    module = import_module("crr_step")
    monkeypatch.delitem(sys.modules, "crr_step")
    if request.param == "compiled" and not module.COMPILED:
        pytest.skip("numba is not installed")

    def build(*arguments: Any) -> Any:
        return module.ConditionalRandomizedResponse(
            *arguments, compiled=request.param == "compiled"
        )

    return build


@pytest.mark.parametrize("symbols", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_step_draws_from_the_law_of_the_operator(
    peer_step: Any, symbols: int, epsilon: float
) -> None:
    random = np.random.default_rng(symbols)
    chain = random.dirichlet(np.full(symbols, 0.5), size=symbols + 1)
    operator = ConditionalRandomizedResponse(
        MarkovModel.smoothed(chain[0], chain[1:].tolist(), SMOOTHING), epsilon
    )
    step = peer_step("abcdefghij"[:symbols], chain[0], chain[1:], epsilon, SMOOTHING)
    beliefs = np.concatenate(
        [random.dirichlet(np.full(symbols, how), size=100) for how in (0.1, 0.5, 5.0)]
        + [np.full((1, symbols), 1 / symbols)]
    )
    beliefs = np.maximum(beliefs, 1e-12)
    state = operator.start(len(beliefs)) | {"belief": beliefs / beliefs.sum(axis=1, keepdims=True)}
    rows, truths = np.arange(len(beliefs)), random.integers(symbols, size=len(beliefs))
    sums = operator.release_law(state)[rows, truths].cumsum(axis=1)
    # Both ends of the piece of [0, 1) that the law gives to one symbol, and its middle.
    released = (sums <= random.random(len(rows))[:, None] * sums[:, -1:]).sum(axis=1)
    above = sums[rows, released] / sums[:, -1]
    below = np.where(released > 0, sums[rows, released - 1], 0.0) / sums[:, -1]
    after, posterior = operator.observe(state, released)
    for inside in (1e-9, 0.5, 1 - 1e-9):
        uniforms = below + inside * (above - below)
        for row in rows.tolist():
            belief, symbol, confidence = step.after(
                state["belief"][row].tolist(), int(truths[row]), float(uniforms[row])
            )
            assert symbol == released[row]
            assert confidence == pytest.approx(posterior[row, symbol], abs=ACCURACY)
            assert list(belief) == pytest.approx(after["belief"][row].tolist(), abs=ACCURACY)


def test_output_looks_as_that_of_fugu(peer_step: Any) -> None:
    step = peer_step(["low", "high"], [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], 1.0, 0.0)
    assert step.encode(step.decode(b'{"zone":"high","bpm":3}'), 0.73) == (
        b'{"zone":"high","confidence":0.7300}'
    )
