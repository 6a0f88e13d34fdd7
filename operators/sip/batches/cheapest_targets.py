"""Search for the cheapest k: every batch goes to the nearest of the k most likely ones.

It ends before the largest k where no later one can be cheaper. Let p(o) be the probability of a
batch, c the least cost so far, and every s(r) = E D(X, r) within [c, top]. A target gathers its own
batch at least, b(r) >= p(r), and m(r) >= 1 - e^eps b(r), so that every later k has

    Z (cost - c) = g sum p(o) D(o, pi(o)) + sum m(r) (s(r) - c) - g c
                >= sum over the targets so far of (1 - e^eps p(r)) (s(r) - c)
                   - e^eps (1 - sum over them of p(r)) (top - c) - g c.

Where the search ends thus never shows. Everything is `(batches, rows)`.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import ordered_sum

TIE = 1e-12
MOST_PAIRED = 512
SURELY = 1e-6
"""By so much of e^eps top it must be above 0: by far more than rounding."""


class Search(NamedTuple):
    """Hold the symbols of each batch, D(x, y), the largest k, g and e^eps.

    `between[r, o]` is how far two batches are from each other; it is empty where they are many.
    """

    digits: Integers
    table: Floats
    kept: int
    gain: float
    growth: float
    between: Floats


def cheapest_targets(prior: Floats, spread: Floats, search: Search) -> tuple[Integers, Floats]:
    """Return the target of every batch, and its cost; `spread` is E D(X, r) of every batch r."""
    digits, table, kept, gain, growth, _ = search
    rows = prior.shape[1]
    targets, cost = np.zeros(prior.shape, dtype=np.int64), np.full(rows, np.inf)
    ranked = np.argsort(-prior, axis=0, kind="stable")[:kept]
    nearest, near = np.zeros(prior.shape, dtype=np.int64), np.full(prior.shape, np.inf)
    open_rows = np.arange(rows)
    for count in range(1, kept + 1):
        far = _to(ranked[count - 1], digits, table)
        nearer = far < near
        nearest = np.where(nearer, count - 1, nearest)
        near = np.where(nearer, far, near)
        columns = np.arange(len(open_rows))
        place = (nearest * len(columns) + columns).ravel()
        gathered = np.bincount(place, prior.ravel(), count * len(columns)).reshape(count, -1)
        used = np.zeros((count, len(columns)), dtype=bool)
        used[nearest, columns] = True
        mass = np.where(used, np.maximum(gathered, 1.0 - growth * gathered), 0.0)
        its = spread[ranked[:count], columns]
        apart, moved = ordered_sum(mass * its), ordered_sum(prior * near)
        costs = (gain * moved + apart) / (gain + ordered_sum(mass))
        better = np.flatnonzero(costs < cost[open_rows] - TIE)
        cost[open_rows[better]] = costs[better]
        targets[:, open_rows[better]] = ranked[nearest[:, better], better]

        least, top = cost[open_rows], spread.max(axis=0)
        likely = np.where(used, prior[ranked[:count], columns], 0.0)
        beyond = np.where(used, (1.0 - growth * likely) * (its - least), 0.0).sum(axis=0)
        beyond -= growth * (1.0 - likely.sum(axis=0)) * (top - least) + gain * least
        hopeless = (spread.min(axis=0) >= least) & (beyond >= SURELY * growth * top)
        if hopeless.any():
            going = np.flatnonzero(~hopeless)
            prior, spread, ranked = prior[:, going], spread[:, going], ranked[:, going]
            nearest, near, open_rows = nearest[:, going], near[:, going], open_rows[going]
            if len(going) == 0:
                break
    return targets, cost


def distances_between(digits: Integers, table: Floats) -> Floats:
    """Return how far batches are from each other, if they are few enough to write it down."""
    batches = digits.shape[1]
    if batches > MOST_PAIRED:
        return np.zeros((0, 0))
    return np.ascontiguousarray(_to(np.arange(batches), digits, table).T)


def _to(batches: Integers, digits: Integers, table: Floats) -> Floats:
    """Return how far every batch is from one of its own column."""
    total = np.zeros((digits.shape[1], len(batches)))
    for digit in digits:
        total = total + table[:, digit[batches]][digit]
    return total
