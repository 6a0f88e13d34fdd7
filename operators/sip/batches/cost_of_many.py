"""The expected distance of a release among very many symbols."""

from typing import cast

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.assignment import Assignment
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.release_law import ReleaseLaw
from fugu.operators.sip.stay_or_fill import StayOrFill


def cost_of_many(law: ReleaseLaw, distance: Distance) -> Floats:
    """Return the cost of each column, without comparing all symbols with each other.

    It is [g E D(X, pi(X)) + sum over y of m(y) E D(X, y)] / (g + M), with the few y that symbols
    are sent to, or, for 0/1 distance, with P(X is not y).

    >>> from fugu.operators.sip.distances import Ordered
    >>> belief = np.array([[0.6], [0.3], [0.1]])
    >>> proposal = Assignment.to(np.array([[0], [0], [2]]))
    >>> law = ReleaseLaw.repaired(belief, proposal, gain=9.0, growth=10.0)
    >>> cost_of_many(law, Ordered()).round(3).tolist()
    [0.33]
    """
    moved, spread = _stays(law) if isinstance(law.proposal, StayOrFill) else _sent(law, distance)
    return np.asarray((law.gain * moved + spread) / (law.gain + ordered_sum(law.mass)))


def _stays(law: ReleaseLaw) -> tuple[Floats, Floats]:
    proposal = cast(StayOrFill, law.proposal)
    fill = np.where(proposal.partial, proposal.partial_fill, proposal.fill)
    moved = ordered_sum(law.belief * (1.0 - proposal.own) * (1.0 - fill))
    return moved, ordered_sum(law.mass * (1.0 - law.belief))


def _sent(law: ReleaseLaw, distance: Distance) -> tuple[Floats, Floats]:
    proposal = cast(Assignment, law.proposal)
    symbols, columns = law.belief.shape
    moved, spread = np.zeros(columns), np.zeros(columns)
    truths = np.repeat(np.arange(symbols), columns)
    for targets, weights in zip(proposal.targets, proposal.weights, strict=True):
        apart = distance.between(truths, targets.ravel()).reshape(symbols, columns)
        moved = moved + ordered_sum(law.belief * weights * apart)
    for column in range(columns):
        for target in np.flatnonzero(proposal.support[:, column]):
            far = distance.from_each(np.array([target]), symbols)
            expected = float(ordered_sum(law.belief[:, [column]] * far)[0])
            spread[column] += law.mass[target, column] * expected
    return moved, spread
