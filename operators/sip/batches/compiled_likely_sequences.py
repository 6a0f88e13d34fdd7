"""The probabilities of batches and their expected distances, stream by stream.

The same operations in the same order as `prior` and `expected_distances` of `LikelySequences`.
"""

import numpy as np

from fugu.operators.compiled.compiling import entry_point
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.compiled_markov_step import constant, predict_dense


def spelled_out(
    belief: Floats, digits: Integers, transition: Floats, table: Floats
) -> tuple[Floats, Floats]:
    """Return P(batch) and sum_i E D(X_i, r_i) for each column of `belief`, `(batches, rows)`.

    `digits (window, batches)` are the symbols of each batch, and `table` holds D(x, y).
    """
    beliefs, digits = np.ascontiguousarray(belief.T), constant(digits)
    rows, symbols = beliefs.shape
    priors, spreads = np.empty((2, rows, digits.shape[1]))
    transition, table, room = constant(transition), constant(table), np.empty((3, symbols))
    _spell(beliefs, transition, table, digits, room, priors, spreads)
    return priors.T, spreads.T


@entry_point
def _spell(
    beliefs: Floats,
    transition: Floats,
    table: Floats,
    digits: Integers,
    room: Floats,
    priors: Floats,
    spreads: Floats,
) -> None:
    window, batches = digits.shape
    symbols = beliefs.shape[1]
    expected = room[2]
    for row in range(len(beliefs)):
        now, following = room[0], room[1]
        prior, spread = priors[row], spreads[row]
        for symbol in range(symbols):
            now[symbol] = beliefs[row, symbol]
        for batch in range(batches):
            prior[batch], spread[batch] = now[digits[0, batch]], 0.0
        for position in range(1, window):
            for batch in range(batches):
                step = transition[digits[position - 1, batch], digits[position, batch]]
                prior[batch] *= step
        total = prior[0]
        for batch in range(1, batches):
            total += prior[batch]
        for batch in range(batches):
            prior[batch] /= total
        for position in range(window):
            for released in range(symbols):
                far = now[0] * table[0, released]
                for truth in range(1, symbols):
                    far += now[truth] * table[truth, released]
                expected[released] = far
            for batch in range(batches):
                spread[batch] += expected[digits[position, batch]]
            predict_dense(now, transition, following)
            now, following = following, now
