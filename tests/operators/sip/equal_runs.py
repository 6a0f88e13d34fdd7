"""A compiled run beside rounds of numpy: models, all kinds of beliefs, and what has to be equal."""

import numpy as np

from fugu.operators.mechanism import Array, Floats, Inputs, Integers
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

ROWS, POSITIONS = 50, 250


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


def compare(
    mechanism: ConditionalRandomizedResponse | AdaptiveRelease,
    belief: Floats,
    seed: int,
    pays_for: int = 20,
    predictions: Integers | None = None,
) -> int:
    """Return how many releases both give."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random(POSITIONS) < 0.1, 0, rng.integers(ROWS, size=POSITIONS))
    truth = Inputs(rng.integers(mechanism.model.symbols, size=POSITIONS))
    scope = DrawScope(Secret(bytes(32)), "p", mechanism.kind, 1, mechanism.law_digest())
    keys = [b"user %d" % row for row in rows.tolist()]
    draws = scope.draws(keys, record_positions("t", 0, range(POSITIONS)))
    state = {**mechanism.start(ROWS), "belief": belief}
    if predictions is not None:
        state["predictions"] = predictions
    total = None if seed % 2 else mechanism.largest_charge * pays_for
    assert mechanism.runs
    run = mechanism.run(state, rows, truth, draws, total)
    rounds = run_in_rounds(mechanism, state, rows, truth, draws, total)

    def columns(one: object) -> list[bytes]:
        assert isinstance(one, type(run))
        every: list[Array] = [*one.state.values(), one.ledger["spent"], one.paid]
        every += [one.releases.values, one.releases.annotations["confidence"]]
        every += [] if one.releases.kinds is None else [one.releases.kinds]
        return [column.tobytes() for column in every]

    assert columns(run) == columns(rounds)
    return int(run.paid.sum())
