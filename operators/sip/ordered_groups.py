"""Ordered symbols in groups: those of at least tau are alone, smaller neighbours are gathered.

From left to right, smaller symbols are gathered until they have mass tau; a symbol of tau or more
begins anew. What is left over in between goes to the nearest representative. All arrays are
`(n, rows)`. Source: SIP specification section 3.2, candidate (ii).

>>> sums = RunningSums(np.array([[0.3], [0.1], [0.1], [0.5]]))
>>> grouped(sums, 1.7, 2.7, (1.0,))[:, :, 0].T.tolist()
[[0, 0, 3, 3], [0, 0, 3, 3]]
"""

from collections.abc import Sequence

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.proposal import Mask
from fugu.operators.sip.running_sums import RunningSums, at


def grouped(sums: RunningSums, gain: float, growth: float, shares: Sequence[float]) -> Integers:
    """Return the target of every symbol, `(n, candidates, rows)`: for each tau = share / (e^eps +
    1) everybody in their group, and then for each of them everybody at the nearest representative.
    """
    symbols, rows = sums.belief.shape
    every = np.tile(np.arange(rows), len(shares))
    many = RunningSums(sums.belief[:, every])
    threshold = np.repeat(np.array(shares) / (growth + 1.0), rows)
    large = many.belief >= threshold
    ends, group = _ends(many.belief, large, threshold)
    itself = np.arange(symbols)[:, None]

    begin = np.where(group, itself, 0)
    share = many.between(begin, np.where(group, ends + 1, begin))
    level = median_level(at(many.mass, begin), np.where(group, share, 1.0), gain, growth)
    middle = np.where(group, many.first_reaching(level), 0)
    marked = large.copy()
    at_row, at_column = np.nonzero(group)
    marked[middle[at_row, at_column], at_column] = True

    closest = nearest(marked)
    latest = np.maximum.accumulate(np.where(group, itself, -1), axis=0)
    start = np.maximum(latest, 0)
    inside = (latest >= 0) & (itself <= at(ends, start)) & ~large
    own = np.where(large, itself, np.where(inside, at(middle, start), closest))
    both = np.concatenate([own, closest], axis=1)
    return both.reshape(symbols, 2 * len(shares), rows)


def median_level(below: Floats, share: Floats, gain: float, growth: float) -> Floats:
    """Return where the running sum of the belief passes the best representative of what is between
    the levels `below` and `below + share`.

    It is the median of (1 - e^-eps) times that and e^-eps share times the whole belief.
    """
    own, everybody = gain / growth, share / growth
    inside = (0.5 * share + own * below) / (own + everybody)
    before, after = 0.5 * growth, (0.5 - own) * growth
    level = np.where(0.5 * share <= own * share + everybody * (below + share), inside, after)
    return np.where(0.5 * share <= everybody * below, before, level)


def _ends(belief: Floats, large: Mask, threshold: Floats) -> tuple[Integers, Mask]:
    """Return the last symbol of the group that each symbol would begin, and which begin one."""
    symbols, columns = belief.shape
    small = RunningSums(np.where(large, 0.0, belief))
    ends = small.first_reaching(small.mass[:-1] + threshold)
    enough = small.between(np.arange(symbols)[:, None] + np.zeros_like(ends), ends + 1) >= threshold
    place = np.where(large, np.arange(symbols)[:, None], symbols)
    stop = np.minimum.accumulate(place[::-1], axis=0)[::-1]
    complete = enough & (ends < stop)
    following = np.full((symbols + 1, columns), symbols)
    following[:-1] = np.where(complete, ends + 1, np.minimum(stop + 1, symbols))
    begins = np.zeros((symbols + 1, columns), dtype=bool)
    begins[0] = True
    for _ in range(symbols.bit_length()):
        at_row, at_column = np.nonzero(begins)
        begins[following[at_row, at_column], at_column] = True
        following = np.take_along_axis(following, following, axis=0)
    return ends, begins[:-1] & complete


def nearest(marked: Mask) -> Integers:
    """Return the nearest marked symbol, the lower one of two; at least one is marked."""
    place = np.arange(len(marked))[:, None]
    lower = np.maximum.accumulate(np.where(marked, place, -1), axis=0)
    upper = np.minimum.accumulate(np.where(marked, place, len(marked))[::-1], axis=0)[::-1]
    down = (lower >= 0) & ((place - lower <= upper - place) | (upper == len(marked)))
    return np.where(down, lower, upper)
