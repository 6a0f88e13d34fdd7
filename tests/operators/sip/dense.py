"""The law that the code computed, as dense arrays, and mechanisms that tests configure."""

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.release_law import ReleaseLaw
from tests.operators.sip.choices import Choices

ANY_MODEL = MarkovModel(np.array([0.5, 0.5]), np.full((2, 2), 0.5))
"""For tests of `law`, which depends on the belief and not on the model."""


def bounded_law(belief: Floats, epsilon: float) -> SymbolLaw:
    """Return the law of bounded CRR at the beliefs `(n, rows)`."""
    return ConditionalRandomizedResponse(ANY_MODEL, epsilon).law(belief)


def law_of(choices: Choices, belief: Floats, epsilon: float) -> SymbolLaw:
    """Return the law of bounded CRR with another kernel at the beliefs `(n, rows)`."""
    symbols = len(belief)
    model = MarkovModel.smoothed(
        np.full(symbols, 1.0 / symbols), np.full((symbols, symbols), 1.0 / symbols), 0.0
    )
    return choices.configured(model, epsilon).law(belief)


def paper_law(belief: Floats, epsilon: float) -> ReleaseLaw:
    """Return the law of the paper's CRR at the beliefs `(n, rows)`."""
    return PaperConditionalRandomizedResponse(ANY_MODEL, epsilon).law(belief)


def matrix(law: SymbolLaw) -> Floats:
    """a[x, y, row] of every input, as the code says."""
    symbols, rows = law.belief.shape
    return np.stack([law.probabilities(np.full(rows, x)) for x in range(symbols)])


def marginal(belief: Floats, law: Floats) -> Floats:
    """q[y, row] = sum over x of beta(x) a(y|x)."""
    q: Floats = np.einsum("xr,xyr->yr", belief, law)
    return q


def leakages(belief: Floats, law: Floats) -> Floats:
    """IIL of each row of a[x, y, row], by definition: over all x, also those of belief zero."""
    released = law.max(axis=0) > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log(law / marginal(belief, law)))
    return np.asarray(np.where(released, ratios, 0.0).max(axis=(0, 1)))


def expected_distance(belief: Floats, law: Floats, table: Floats) -> Floats:
    """sum of beta(x) a(y|x) D(x, y) for each row of a[x, y, row]."""
    cost: Floats = np.einsum("xr,xyr,xy->r", belief, law, table)
    return cost


def distances(law: Floats) -> Floats:
    """LDP level of each row: the largest ln a(y|x)/a(y|x') over all inputs, likely or not."""
    released = law.max(axis=0) > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(law.max(axis=0) / law.min(axis=0))
    return np.asarray(np.where(released, ratios, 0.0).max(axis=0))
