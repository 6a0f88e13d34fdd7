"""Models of a few symbols, which the examples of several mechanisms share."""

import numpy as np

from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows


def sticky() -> MarkovModel:
    return MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)


def cycle() -> MarkovModel:
    return MarkovModel.smoothed([0.7, 0.2, 0.1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0.2)


def only() -> MarkovModel:
    """Return the model of a single symbol."""
    return MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)


def sparse() -> SparseMarkovModel:
    rows = [({0: 0.9, 2: 0.1}, 0.0), ({2: 0.5}, 0.5), ({}, 1.0), ({0: 0.75, 3: 0.25}, 0.0)]
    return SparseMarkovModel(np.full(4, 0.25), SparseRows.smoothed(rows, 4, smoothing=0.01))


def second_order() -> SecondOrderModel:
    after_one = [({0: 0.5, 1: 0.5}, 0.0), ({1: 0.6, 2: 0.2}, 0.2), ({0: 1.0}, 0.0)]
    after_two = [({2: 1.0}, 0.0), ({0: 0.1, 1: 0.8}, 0.1)]
    rows = SparseRows.smoothed([*after_one, *after_two], 3, smoothing=0.01)
    return SecondOrderModel(np.array([0.5, 0.3, 0.2]), np.array([[0, 1], [1, 1]]), rows)
