"""Add noise to rounded indices: the one thing of mixed figures that leaves."""

import numpy as np

from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Draws, Floats, Integers
from fugu.operators.noise import discrete_gaussian, wide_gaussian
from fugu.operators.randomness import draws_of
from fugu.operators.totals.precision import Precision


def measured_rows(
    precision: Precision, index: Integers, rows: Integers, draws: Draws, silent: int = 0
) -> Floats:
    """Return noisy indices of `rows`, and zeros of the others, shape `(rows, bins)`.

    A draw is bound to the indices of its tick, and to its number among `silent` ones, if it is one.
    """
    measured = np.zeros(index.shape)
    if len(rows):
        which = (silent,) if silent else ()
        bindings = [binding_digest(row.tobytes(), *which) for row in index[rows].astype(">i8")]
        words = draws_of(draws, rows, len(index)).words(
            "release",
            bindings,
            coordinates=index.shape[1] * precision.parts,
            count=discrete_gaussian.WORDS_PER_DRAW,
        )
        sampler = wide_gaussian if precision.wide else discrete_gaussian
        measured[rows] = index[rows] + sampler.sample(words)
    return measured
