"""A fixed run of CRR as one digest; `python -m tests.operators.fixed_run` prints it.

It prints the digest of all releases, annotations and states, and the instruction sets that numpy
uses beyond its baseline.
"""

from collections.abc import Iterator
from hashlib import blake2b
from importlib import import_module

import numpy as np

from operators.mechanism import Inputs
from operators.randomness import DrawScope, Secret, record_positions
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse

ROWS, STEPS = 67, 8


def mechanisms() -> Iterator[ConditionalRandomizedResponse]:
    """Alphabets of 2 to 40 symbols, with integer weights, so that no logarithm is needed here."""
    for symbols, epsilon in ((2, 0.7), (3, 1.0), (5, 2.5), (11, 0.2), (17, 4.0), (40, 8.0)):
        u, v = np.meshgrid(np.arange(symbols), np.arange(symbols), indexing="ij")
        weights = (7 * u + 3 * v * v) % 13 + 20 * (u == v)
        first = np.arange(1, symbols + 1)
        model = MarkovModel.smoothed(
            first / first.sum(), weights / weights.sum(axis=1, keepdims=True), smoothing=0.01
        )
        yield ConditionalRandomizedResponse(model, epsilon)
        yield PaperConditionalRandomizedResponse(model, epsilon)


def digest() -> str:
    """Of every byte that the run lets out or keeps."""
    hasher = blake2b(digest_size=32)
    for mechanism in mechanisms():
        scope = DrawScope(Secret(bytes(32)), "fixed", "run", 1, mechanism.law_digest())
        state = mechanism.start(ROWS)
        for step in range(STEPS):
            values = (np.arange(ROWS) * (step + 3)) % mechanism.model.symbols
            draws = scope.draws([b"key"] * ROWS, record_positions("t", step, range(ROWS)))
            state, releases = mechanism.step(state, Inputs(values), draws)
            hasher.update(releases.values.tobytes() + releases.annotations["confidence"].tobytes())
            for name in sorted(state):
                hasher.update(state[name].tobytes())
    return hasher.hexdigest()


def dispatched_features() -> list[str]:
    """Instruction sets beyond the baseline that numpy found; publicly it only prints them."""
    core = import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


if __name__ == "__main__":
    print(digest(), *dispatched_features())
