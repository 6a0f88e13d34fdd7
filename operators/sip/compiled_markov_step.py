"""Predict from one posterior by a first-order chain, dense or sparse, in the order of numpy."""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import inlined
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.markov_model import SUM_TOLERANCE, MarkovModel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel


class CompiledChain(NamedTuple):
    """Hold a first-order chain: a transition matrix, or sparse rows (and an empty matrix)."""

    transition: Floats
    sources: Integers
    columns: Integers
    kept: Floats
    restart: Floats

    @classmethod
    def of(cls, model: Chain) -> "CompiledChain":
        """Copy the numbers of a dense or sparse chain."""
        if isinstance(model, SparseMarkovModel):
            rows = model.rows
            sparse = rows.sources, rows.columns, rows.kept, rows.restart
            return cls(np.zeros((0, 0)), *map(constant, sparse))
        assert isinstance(model, MarkovModel)
        nowhere, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(constant(model.transition), nowhere, nowhere, nothing, nothing)


def constant(column: Array) -> Array:
    """Copy a column that can be written to, as all others: one type, one compiled function."""
    return np.array(column, order="C")


@inlined
def predict(posterior: Floats, chain: CompiledChain, belief: Floats) -> None:
    """Write the belief about the next symbol."""
    if len(chain.transition):
        predict_dense(posterior, chain.transition, belief)
    else:
        _predict_sparse(posterior, chain, belief)


@inlined
def predict_dense(posterior: Floats, transition: Floats, belief: Floats) -> None:
    """Predict like `MarkovModel.predict`."""
    symbols = len(posterior)
    for following in range(symbols):
        belief[following] = 0.0
    for now in range(symbols):
        for following in range(symbols):
            belief[following] += posterior[now] * transition[now, following]
    normalise(belief)


@inlined
def _predict_sparse(posterior: Floats, chain: CompiledChain, belief: Floats) -> None:
    """Predict like `SparseMarkovModel.skip`."""
    symbols, restart = len(posterior), chain.restart
    for following in range(symbols):
        belief[following] = 0.0
    for entry in range(len(chain.sources)):
        belief[chain.columns[entry]] += posterior[chain.sources[entry]] * chain.kept[entry]
    restarted = posterior[0] * restart[0]
    for now in range(1, symbols):
        restarted += posterior[now] * restart[now]
    restarted /= symbols
    for following in range(symbols):
        belief[following] += restarted
    normalise(belief)


@inlined
def normalise(shares: Floats) -> None:
    """Divide by the sum, added in order."""
    total = shares[0]
    for symbol in range(1, len(shares)):
        total += shares[symbol]
    for symbol in range(len(shares)):
        shares[symbol] /= total


@inlined
def is_distribution(belief: Floats) -> bool:
    """Return whether a belief is a distribution, like `checked_belief`."""
    total = belief[0]
    for symbol in range(1, len(belief)):
        total += belief[symbol]
    for symbol in range(len(belief)):
        if belief[symbol] < 0.0:
            return False
    return bool(abs(total - 1.0) <= SUM_TOLERANCE)
