"""Bound the error of probabilities of batches, in Hilbert's distance.

The exact model is the declared doubles with the prior and each row divided by its exact sum. An
entry of b(o) = beta(o_1) prod C[o_i, o_i+1] is a product of w numbers: w - 1 of them are of rows
whose sums may miss 1 by `excess`, and every product rounds. Distances add up, so b(o) is within

    d + (2 w + 4) u + 2 (w - 1) excess

of the exact one if the belief is within d. Sums over symbols, position by position, add 2 w n u.
Source: symbol sampling specification, section 3 (batches); the last term is its `eta` of section 6.
"""

from math import inf

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.privacy_bound import LARGEST_DISTANCE, UNIT_ROUNDOFF, doubt

_SLACK = 1.0 + 2.0**-20
"""Covers products of small numbers, which the sums above leave out."""


def product_distance(model: MarkovModel, window: int) -> float:
    """Return what writing down the probabilities of batches adds to the distance of the belief."""
    rows = 2.0 * (window - 1) * model.excess
    return (rows + (2 * window + 4) * UNIT_ROUNDOFF) * _SLACK


def forward_distance(model: MarkovModel, window: int) -> float:
    """Return the same where probabilities are summed over the symbols of each position."""
    sums = 2 * window * model.symbols * UNIT_ROUNDOFF
    return product_distance(model, window) + sums * _SLACK


def doubts_of(distances: Floats, outcomes: int) -> Floats:
    """Return rho of laws over so many batches; infinite where only a constant can be released."""
    few, place = np.unique(distances, return_inverse=True)
    paid = [
        inf if distance > LARGEST_DISTANCE else doubt(distance, outcomes)
        for distance in few.tolist()
    ]
    return np.array(paid)[place]
