"""Markov chains to audit with."""

import numpy as np

from fugu.operators.sip.markov_model import MarkovModel


def binary(stays: float, first: float) -> MarkovModel:
    """Two symbols; `stays` = P(no change), `first` = P(first symbol is 1)."""
    return MarkovModel(
        np.array([1.0 - first, first]), np.array([[stays, 1.0 - stays], [1.0 - stays, stays]])
    )


def random_chain(rng: np.random.Generator, symbols: int) -> MarkovModel:
    concentration = rng.choice([0.2, 1.0, 5.0])
    transition = rng.dirichlet(np.full(symbols, concentration), symbols)
    prior = rng.dirichlet(np.full(symbols, concentration))
    return MarkovModel.smoothed(prior, transition, smoothing=float(rng.choice([1e-4, 1e-2])))
