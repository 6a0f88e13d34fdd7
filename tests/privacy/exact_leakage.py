"""The worst log-ratio of a mechanism with a finite law, over all inputs and all outputs.

`audit_sequences` follows every sequence of releases. From the mechanism it takes the release law at
a belief and how the belief moves, as a reader would; the joint distribution of truth and releases
it adds up by itself, so that a wrong belief update shows as leakage.
"""

from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from operators.mechanism import Floats
from operators.sip.markov_model import MarkovModel
from operators.sip.release_law import ReleaseLaw


class BeliefMechanism(Protocol):
    """What the audit needs to know about a mechanism."""

    @property
    def model(self) -> MarkovModel: ...

    def law(self, belief: Floats) -> ReleaseLaw: ...


@dataclass(frozen=True)
class Audit:
    """Every releasable sequence: what it leaked, and what the mechanism says it leaked."""

    leaked: Floats
    """max over truths of |ln P(truth given releases)/P(truth)|, one per sequence of releases."""
    distance: Floats
    """max over pairs of truths of ln P(releases given truth)/P(releases given other truth)."""
    claimed: Floats
    """sum over steps of the leakage that the mechanism reports for its law."""

    @property
    def worst(self) -> float:
        return float(self.leaked.max())


def audit_sequences(
    mechanism: BeliefMechanism, steps: int, *, adversary: MarkovModel | None = None
) -> Audit:
    """Enumerate all truths and releases; `adversary` is who reads them, by default the model."""
    chain = adversary or mechanism.model
    symbols = mechanism.model.symbols
    truths = np.array(list(product(range(symbols), repeat=steps)))
    prior = np.prod(
        [chain.prior[truths[:, 0]]]
        + [chain.transition[truths[:, k], truths[:, k + 1]] for k in range(steps - 1)],
        axis=0,
    )
    likelihood = np.ones((len(truths), 1))
    belief = mechanism.model.prior[:, None]
    claimed = np.zeros(1)
    for k in range(steps):
        law = mechanism.law(belief)
        rows = belief.shape[1]
        a = np.stack([law.probabilities(np.full(rows, x)) for x in range(symbols)])
        leakage = np.log(law.leakage_ratio)
        branches = []
        for y in range(symbols):
            seen = np.flatnonzero(a[:, y].max(axis=0) > 0.0)
            posterior = mechanism.law(belief[:, seen]).posterior(np.full(len(seen), y))
            branches.append(
                (
                    likelihood[:, seen] * a[truths[:, k], y][:, seen],
                    mechanism.model.predict(posterior),
                    (claimed + leakage)[seen],
                )
            )
        likelihood, belief, claimed = (
            np.concatenate([branch[part] for branch in branches], axis=-1) for part in range(3)
        )
    released = (prior[:, None] * likelihood).sum(axis=0)
    with np.errstate(divide="ignore"):
        ratios = np.log(likelihood / released)
    return Audit(
        leaked=np.abs(ratios).max(axis=0),
        distance=ratios.max(axis=0) - ratios.min(axis=0),
        claimed=claimed,
    )
