"""Groups of symbols of about equal mass, one representative in each: a coarser alphabet.

Under `Ordered` and `Points` groups are neighbourhoods: the symbols are split along their widest
axis, in proportion to the number of groups on both sides, and split again. Under `Hamming` the most
likely symbols represent, and every other one joins the lightest group. Utility only: any grouping
that depends on public data alone is private. Source: SIP specification section 8, algorithm 3.

>>> clusters(np.full(6, 1 / 6), 3, Ordered()).tolist()
[0, 0, 1, 1, 2, 2]
>>> clusters(np.array([0.1, 0.5, 0.3, 0.1]), 2, Hamming()).tolist()
[1, 0, 1, 1]
"""

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.distances import Distance, Hamming, Ordered, Points
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.proposal import Mask


def clusters(mass: Floats, count: int, distance: Distance) -> Integers:
    """Return the group 0..count-1 of each symbol; none is empty, and `count` is at most n."""
    symbols = len(mass)
    if count == symbols:
        return np.arange(symbols)
    match distance:
        case Hamming():
            return _around_the_likeliest(mass, count)
        case Ordered():
            return _neighbourhoods(mass, count, np.arange(symbols, dtype=np.float64)[:, None])
        case Points():
            return _neighbourhoods(mass, count, distance.coordinates)


def representatives(mass: Floats, grouped: Integers, count: int, table: Floats) -> Integers:
    """Return the member of each group that the others are nearest to, weighted by mass."""
    chosen = np.empty(count, dtype=np.int64)
    for group in range(count):
        members = np.flatnonzero(grouped == group)
        apart = ordered_sum(mass[members, None] * table[np.ix_(members, members)])
        chosen[group] = members[int(np.argmin(apart))]
    return chosen


def central(masses: Floats, distance: Distance, among: Mask | None = None) -> Integers:
    """Return a symbol that is about nearest to each column of `masses (n, columns)`, in O(n log n).

    It is the likeliest one, or the one nearest to the median of each coordinate; one `among (n,
    columns)`, where only some may be.

    >>> central(np.array([[0.1, 0.9], [0.2, 0.0], [0.7, 0.1]]), Ordered()).tolist()
    [2, 0]
    """
    symbols, columns = masses.shape
    match distance:
        case Hamming():
            allowed = masses if among is None else np.where(among, masses, -1.0)
            return np.asarray(np.argmax(allowed, axis=0))
        case Ordered():
            placed = np.arange(symbols, dtype=np.float64)[:, None]
        case Points():
            placed = distance.coordinates
    square = np.zeros((symbols, columns))
    for along in placed.T:
        order = np.argsort(along, kind="stable")
        reached = np.cumsum(masses[order], axis=0)
        middle = np.argmax(2.0 * reached >= reached[-1], axis=0)
        gap = along[:, None] - along[order[middle]]
        square = square + gap * gap
    allowed = square if among is None else np.where(among, square, np.inf)
    return np.asarray(np.argmin(allowed, axis=0))


def _around_the_likeliest(mass: Floats, count: int) -> Integers:
    ranked = np.argsort(-mass, kind="stable")
    grouped = np.empty(len(mass), dtype=np.int64)
    grouped[ranked[:count]] = np.arange(count)
    heavy = mass[ranked[:count]].copy()
    for symbol in ranked[count:]:
        lightest = int(np.argmin(heavy))
        grouped[symbol] = lightest
        heavy[lightest] += mass[symbol]
    return grouped


def _neighbourhoods(mass: Floats, count: int, coordinates: Floats) -> Integers:
    grouped = np.empty(len(mass), dtype=np.int64)
    waiting, done = [(np.arange(len(mass)), count)], 0
    while waiting:
        members, parts = waiting.pop()
        if parts == 1:
            grouped[members] = done
            done += 1
            continue
        placed = coordinates[members]
        axis = int(np.argmax(placed.max(axis=0) - placed.min(axis=0)))
        members = members[np.argsort(placed[:, axis], kind="stable")]
        reached = np.cumsum(mass[members])
        left = parts // 2
        off = np.abs(reached * parts - reached[-1] * left)
        cut = left + int(np.argmin(off[left - 1 : len(members) - (parts - left)]))
        waiting += [(members[cut:], parts - left), (members[:cut], left)]
    return grouped
