"""Release laws for 0/1 distance, one for each row: see `hamming_law` for one of them.

`laws` is `(rows, 7, n)`; beliefs and posteriors are `(rows, n)`, transitions `(rows, n, n)`.
"""

import numpy as np

from operators.compiled import hamming_law as law_of
from operators.compiled.compiling import entry_point
from operators.compiled.markov_step import predict_dense
from operators.mechanism import Array, Floats, Integers


@entry_point
def propose(
    beliefs: Floats,
    gain: float,
    growth: float,
    laws: Floats,
    partials: Integers,
    ratios: Floats,
) -> None:
    """Repaired proposals, and e to the power of what their releases leak."""
    rows, n = beliefs.shape
    order, rank = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    room = np.empty((law_of.SCRATCH_ROWS, n))
    for row in range(rows):
        belief, law = beliefs[row], laws[row]
        partials[row], constant = law_of.propose(
            belief, gain, growth, False, law, room, order, rank
        )
        ratios[row] = law_of.leakage_ratio(law, gain, constant)


@entry_point
def sample(
    laws: Floats,
    gain: float,
    partials: Integers,
    symbols: Integers,
    uniforms: Floats,
    drawn: Integers,
) -> None:
    """A release for each row."""
    room = np.empty((law_of.SCRATCH_ROWS, laws.shape[2]))
    for row in range(len(laws)):
        drawn[row] = law_of.sample(
            laws[row], gain, partials[row], symbols[row], uniforms[row], room
        )


@entry_point
def correct(
    beliefs: Floats,
    laws: Floats,
    gain: float,
    partials: Integers,
    released: Integers,
    posteriors: Floats,
) -> None:
    """What a release of each row says."""
    for row in range(len(laws)):
        law_of.correct(beliefs[row], laws[row], gain, partials[row], released[row], posteriors[row])


@entry_point
def predict(posteriors: Floats, transitions: Array, predicted: Floats) -> None:
    """Every row by a chain of its own."""
    for row in range(len(posteriors)):
        predict_dense(posteriors[row], transitions[row], predicted[row])
