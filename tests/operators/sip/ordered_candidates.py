"""Candidates (i) and (ii) of section 3.2 as explicit matrices: slow, obvious and independent."""

from collections.abc import Iterable, Iterator
from math import ceil, exp, expm1

import numpy as np

from fugu.operators.mechanism import Floats


def cost(belief: Floats, proposal: Floats, epsilon: float) -> float:
    """Return what `pi[x, y]` costs after the repair."""
    place = np.arange(len(belief))
    apart = np.abs(place[:, None] - place)
    gain, growth = expm1(epsilon), exp(epsilon)
    marginal, largest = belief @ proposal, proposal.max(axis=0)
    if np.count_nonzero(largest) == 1:
        return float(belief @ apart @ proposal[0])
    mass = np.where(largest > 0.0, np.maximum(marginal, largest - growth * marginal), 0.0)
    moved = (belief[:, None] * proposal * apart).sum()
    return float((gain * moved + (mass * (belief @ apart)).sum()) / (gain + mass.sum()))


def equal_clusters(belief: Floats, epsilon: float) -> Iterator[Floats]:
    """Candidate (i): clusters of mass 1/K, with atoms at their borders split."""
    symbols, reached = len(belief), np.cumsum(belief)
    for clusters in range(1, min(ceil(exp(epsilon) + 1.0) + 1, 64) + 1):
        proposal, chosen = np.zeros((symbols, symbols)), []
        for number in range(clusters):
            begin, end = number / clusters, (number + 1) / clusters
            inside = np.minimum(reached, end) - np.maximum(reached - belief, begin)
            weights = np.maximum(inside, 0.0)
            chosen.append(representative(belief, weights, epsilon))
            proposal[:, chosen[-1]] += weights / np.where(belief > 0.0, belief, 1.0)
        for x in np.flatnonzero(belief == 0.0).tolist():
            proposal[x] = 0.0
            proposal[x, closest(x, chosen)] = 1.0
        yield proposal / proposal.sum(axis=1, keepdims=True)


def groups(belief: Floats, epsilon: float) -> Iterator[Floats]:
    """Candidate (ii): with everybody in their group, and with everybody at the nearest one."""
    symbols = len(belief)
    for share in (1.0, 0.75, 0.5, 0.25):
        large = belief >= share / (exp(epsilon) + 1.0)
        own, marked = np.arange(symbols), set(np.flatnonzero(large).tolist())
        left_over: list[int] = []
        gathered: list[int] = []
        for x in range(symbols):
            gathered = [] if large[x] else [*gathered, x]
            if sum(belief[gathered]) >= share / (exp(epsilon) + 1.0):
                weights = np.where(np.isin(np.arange(symbols), gathered), belief, 0.0)
                own[gathered] = representative(belief, weights, epsilon)
                marked.add(int(own[x]))
                left_over = [y for y in left_over if y not in gathered]
                gathered = []
            elif not large[x]:
                left_over.append(x)
        nearest = [closest(x, marked) for x in range(symbols)]
        own[left_over] = np.array(nearest)[left_over]
        yield np.eye(symbols)[own]
        yield np.eye(symbols)[nearest]


def representative(belief: Floats, weights: Floats, epsilon: float) -> int:
    """The median of (1 - e^-eps) w + e^-eps |w| beta."""
    seen = np.cumsum((1.0 - exp(-epsilon)) * weights + exp(-epsilon) * weights.sum() * belief)
    return int(np.argmax(seen >= seen[-1] / 2.0))


def closest(symbol: int, chosen: Iterable[int]) -> int:
    """The lower one of two."""
    return min(chosen, key=lambda other: (abs(other - symbol), other))
