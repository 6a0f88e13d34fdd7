"""A reader's best inference: exact smoothing of a hidden Markov chain from its releases.

The chain is what the reader believes in; how a truth becomes a release is public, because the law
of each release is a function of earlier ones. Nothing of the mechanism's own belief is used.
"""

from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import EnumerableMechanism, Floats, Integers
from fugu.operators.sip.markov_model import MarkovModel


@dataclass(frozen=True, eq=False)
class Public:
    """Hold what everybody can work out about released streams.

    `likelihood (steps, streams, symbols)` is P(release given truth, releases before it), and
    `spent (steps + 1, streams)` the ledger in nats, before the first release and after each.
    """

    likelihood: Floats
    spent: Floats

    @classmethod
    def of(cls, mechanism: EnumerableMechanism, released: Integers) -> "Public":
        """From the releases `(streams, steps)` and the configuration alone."""
        streams, steps = released.shape
        state = mechanism.start(streams)
        likelihood, spent = [], [state["spent"]]
        for step in range(steps):
            law = mechanism.release_law(state)
            likelihood.append(law[np.arange(streams), :, released[:, step]])
            state = mechanism.follow(state, released[:, step])
            spent.append(state["spent"])
        return cls(np.array(likelihood), np.array(spent) / UNITS_PER_NAT)

    @property
    def charges(self) -> Floats:
        """Return what the ledger says each release cost, `(steps, streams)`."""
        return np.diff(self.spent, axis=0)


def gains(public: Public, reader: MarkovModel) -> Floats:
    """Return what each release told about whole streams, in nats, `(2, steps, streams)`.

    The most by which ln P(truth given releases) rose (first) or fell (second) over all truths. The
    law of a release depends on the truth of its own position only, so the truth that rises most
    over many positions is the one that rises most at each: the sum over positions is exact.
    """
    told = []
    predicted = np.tile(reader.prior, (public.likelihood.shape[1], 1))
    for likelihood in public.likelihood:
        joint = predicted * likelihood
        released = joint.sum(axis=1)
        with np.errstate(divide="ignore"):
            told.append(
                [
                    np.log(likelihood.max(axis=1) / released),
                    np.log(released / likelihood.min(axis=1)),
                ]
            )
        predicted = joint / released[:, None] @ reader.transition
    return np.array(told).swapaxes(0, 1)


def smoothed(public: Public, reader: MarkovModel) -> Floats:
    """P(truth at t given the first k releases), `(steps + 1, steps, streams, symbols)`: [k, t]."""
    steps, streams, symbols = public.likelihood.shape
    found = np.empty((steps + 1, steps, streams, symbols))
    filtered = _filtered(public, reader)
    for known in range(steps + 1):
        later = np.ones((streams, symbols))
        for position in reversed(range(known)):
            found[known, position] = _normalised(filtered[position] * later)
            later = _normalised((public.likelihood[position] * later) @ reader.transition.T)
        expected = filtered[known - 1] if known else None
        for position in range(known, steps):
            expected = reader.prior if expected is None else expected @ reader.transition
            found[known, position] = expected
    return found


def _filtered(public: Public, reader: MarkovModel) -> list[Floats]:
    """P(truth at t given releases up to t)."""
    found: list[Floats] = []
    for likelihood in public.likelihood:
        expected = found[-1] @ reader.transition if found else reader.prior
        found.append(_normalised(expected * likelihood))
    return found


def _normalised(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
