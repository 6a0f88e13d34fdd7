"""Sparse chains and chains of second order, each beside what it means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows
from tests.operators.sip.brute_force import Path, TruthLaw, with_restarts


@dataclass(frozen=True)
class SecondOrder:
    """Rows by what is remembered, one symbol or two, and how likely each restarts."""

    prior: Floats
    rows: dict[Path, Floats]
    restart: dict[Path, float]

    def model(self) -> SecondOrderModel:
        symbols = len(self.prior)
        pairs = [memory for memory in self.rows if len(memory) == 2]
        entries = [
            (dict(enumerate((1.0 - self.restart[memory]) * row)), self.restart[memory])
            for memory, row in self.rows.items()
        ]
        rows = SparseRows.smoothed(entries, symbols, smoothing=0.0)
        return SecondOrderModel(self.prior, np.array(pairs, dtype=np.int64), rows)


def truth_law(chain: SecondOrder) -> TruthLaw:
    """Return how likely a truth is, restart by restart."""
    return with_restarts(chain.prior, chain.rows, chain.restart)


def random_second_order(
    symbols: int, listed: int, seed: int, restarts: tuple[float, float] = (0.001, 0.2)
) -> SecondOrder:
    """`listed` pairs, half of all transitions impossible but for restarts."""
    rng = np.random.default_rng([symbols, listed, seed])
    pairs = list(product(range(symbols), repeat=2))
    chosen = sorted(pairs[i] for i in rng.permutation(len(pairs))[:listed])
    memories: list[Path] = [*((v,) for v in range(symbols)), *chosen]
    rows, restart = {}, {}
    for memory in memories:
        weights = rng.dirichlet(np.ones(symbols)) * (rng.random(symbols) < 0.6)
        weights[rng.integers(symbols)] += 0.1
        rows[memory] = np.asarray(weights / weights.sum())
        restart[memory] = float(rng.uniform(*restarts))
    return SecondOrder(rng.dirichlet(np.ones(symbols)), rows, restart)


def sparse(model: MarkovModel) -> SparseMarkovModel:
    """The same chain; what every row gives every symbol is said by restarts."""
    n = model.symbols
    least = model.transition.min(axis=1, keepdims=True)
    entries = [
        ({v: float(p) for v, p in enumerate(row) if p > 0.0}, float(rest))
        for row, rest in zip(model.transition - least, n * least[:, 0], strict=True)
    ]
    return SparseMarkovModel(model.prior, SparseRows.smoothed(entries, n, smoothing=0.0))


def sparse_rows(rows: Sequence[Floats], smoothing: float) -> SparseRows:
    """Rows given in full, but for zeros."""
    entries = [({v: float(p) for v, p in enumerate(row) if p > 0.0}, 0.0) for row in rows]
    return SparseRows.smoothed(entries, len(rows[0]), smoothing)


def moves(
    model: MarkovModel | SparseMarkovModel | SecondOrderModel,
) -> Iterator[tuple[int, int, Decimal]]:
    """(state, next state, probability) of every entry, to the precision of the context."""
    if isinstance(model, MarkovModel):
        for (state, following), probability in np.ndenumerate(model.transition):
            yield state, following, Decimal(float(probability))
        return
    pairs = model.pairs.tolist() if isinstance(model, SecondOrderModel) else []
    memories = [*([v] for v in range(model.symbols)), *pairs]
    rows = model.rows
    for state, restart in enumerate(rows.restart.tolist()):
        for symbol in range(model.symbols):
            yield state, symbol, Decimal(restart) / model.symbols
    for state, symbol, kept in zip(rows.sources, rows.columns, rows.kept.tolist(), strict=True):
        pair = [memories[state][-1], symbol]
        following = memories.index(pair) if pair in memories else symbol
        yield int(state), int(following), Decimal(kept)
