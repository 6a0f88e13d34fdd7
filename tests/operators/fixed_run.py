"""Fixed runs of CRR as digests of all releases, annotations and states: with the kernel of the
default, with the others, and with other chains."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from math import fsum

import numpy as np

from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

ROWS, FEW_ROWS, STEPS = 67, 9, 8


def mechanisms() -> Iterator[ConditionalRandomizedResponse]:
    """The default, and the paper's own."""
    for model, epsilon in models():
        yield ConditionalRandomizedResponse(model, epsilon)
        yield PaperConditionalRandomizedResponse(model, epsilon)


def other_kernels() -> Iterator[ConditionalRandomizedResponse]:
    """All that are to give the same bytes on every platform: not the solver's."""
    for model, epsilon in list(models())[:4]:
        places = np.stack(np.divmod(np.arange(model.symbols), 7), axis=1) * 1.5
        yield ConditionalRandomizedResponse(model, epsilon, mode="full_support")
        yield ConditionalRandomizedResponse(model, epsilon, Ordered())
        yield ConditionalRandomizedResponse(model, epsilon, Points(places))


def models() -> Iterator[tuple[MarkovModel, float]]:
    """Alphabets of 2 to 40 symbols, with integer weights, so that no logarithm is needed here."""
    for symbols, epsilon in ((2, 0.7), (3, 1.0), (5, 2.5), (11, 0.2), (17, 4.0), (40, 8.0)):
        u, v = np.meshgrid(np.arange(symbols), np.arange(symbols), indexing="ij")
        weights = (7 * u + 3 * v * v) % 13 + 20 * (u == v)
        first = np.arange(1, symbols + 1)
        model = MarkovModel.smoothed(
            first / first.sum(), weights / weights.sum(axis=1, keepdims=True), smoothing=0.01
        )
        yield model, epsilon


def other_chains() -> Iterator[ConditionalRandomizedResponse]:
    """Sparse chains and chains of second order, with several entries for each state."""
    for symbols, epsilon in ((3, 1.0), (23, 2.0), (40, 4.0)):
        rows = [
            ({(v * v + k) % symbols: (k + 1) / (48 + v % 5) for k in range(min(8, symbols))})
            for v in range(symbols)
        ]
        first = np.full(symbols, 1.0 / symbols)
        sparse = SparseRows.smoothed(map(_whole, rows), symbols, smoothing=0.01)
        yield ConditionalRandomizedResponse(SparseMarkovModel(first, sparse), epsilon)
        pairs = np.array([[u, (u * u + 1) % symbols] for u in range(symbols)])
        both = SparseRows.smoothed(map(_whole, [*rows, *rows[::-1]]), symbols, smoothing=0.01)
        yield ConditionalRandomizedResponse(SecondOrderModel(first, pairs, both), epsilon)


def _whole(entries: dict[int, float]) -> tuple[dict[int, float], float]:
    """Return the entries, and what they lack, which is spread over all symbols."""
    return entries, 1.0 - fsum(entries.values())


def digest(mechanisms: Iterable[ConditionalRandomizedResponse], rows: int = ROWS) -> str:
    """Return a digest of every byte that the run releases or keeps."""
    hasher = blake2b(digest_size=32)
    for mechanism in mechanisms:
        scope = DrawScope(Secret(bytes(32)), "fixed", "run", 1, mechanism.law_digest())
        state = mechanism.start(rows)
        for step in range(STEPS):
            values = (np.arange(rows) * (step + 3)) % mechanism.model.symbols
            draws = scope.draws([b"key"] * rows, record_positions("t", step, range(rows)))
            state, releases = mechanism.step(state, Inputs(values), draws)
            hasher.update(releases.values.tobytes() + releases.annotations["confidence"].tobytes())
            for name in sorted(state):
                hasher.update(state[name].tobytes())
    return hasher.hexdigest()


def of_defaults() -> str:
    return digest(mechanisms())


def of_other_kernels() -> str:
    return digest(other_kernels(), FEW_ROWS)


def of_other_chains() -> str:
    return digest(other_chains(), FEW_ROWS)
