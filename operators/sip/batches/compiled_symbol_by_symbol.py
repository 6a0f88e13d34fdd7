"""The expected cost of releasing a batch symbol by symbol, stream by stream.

The same operations in the same order as `ProductLaw` of `operators.sip.batches.symbol_by_symbol`,
with the kernel for 0/1 distance. Releases without weight change nothing, and are left out.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip import compiled_hamming_law as law_of
from fugu.operators.sip.compiled_hamming_law import Room
from fugu.operators.sip.compiled_integer_law import constant, predict_dense


class Paths(NamedTuple):
    """Hold the sequences that are followed, each with a law, its partial symbol, a belief and a
    weight, and room for what comes after them."""

    laws: Floats
    partials: Integers
    at: Floats
    onward: Floats
    weight: Floats
    likely: Floats

    @classmethod
    def of(cls, followed: int, symbols: int) -> "Paths":
        """Make room for at most so many."""
        laws = np.empty((followed, law_of.LAW_ROWS, symbols))
        at, onward = np.empty((followed, symbols)), np.empty((followed, symbols))
        weight, likely = np.empty(followed), np.empty(symbols * followed)
        return cls(laws, np.empty(followed, dtype=np.int64), at, onward, weight, likely)


def followed_cost(
    belief: Floats,
    transition: Floats,
    table: Floats,
    window: int,
    bound: tuple[float, float],
    followed: int,
) -> Floats:
    """Return the cost for each column of `belief`; no symbol is at a distance from itself.

    `table` holds D(x, y), and `bound` the gain and the growth of the law of one symbol.
    """
    beliefs, cost, n = np.ascontiguousarray(belief.T), np.empty(belief.shape[1]), len(belief)
    transition, table, (gain, growth) = constant(transition), constant(table.T), bound
    paths, shares, room = Paths.of(followed, n), np.empty((3, n)), Room.of(n)
    _followed_cost(beliefs, transition, table, window, gain, growth, paths, shares, room, cost)
    return cost


@entry_point
def _followed_cost(
    beliefs: Floats,
    transition: Floats,
    table: Floats,
    window: int,
    gain: float,
    growth: float,
    sequences: Paths,
    shares: Floats,
    room: Room,
    costs: Floats,
) -> None:
    n, followed = beliefs.shape[1], len(sequences.weight)
    laws, partials = sequences.laws, sequences.partials
    weight, likely = sequences.weight, sequences.likely
    at, onward = sequences.at, sequences.onward
    moved, spread, posterior = shares[0], shares[1], shares[2]
    for row in range(len(beliefs)):
        for symbol in range(n):
            at[0, symbol] = beliefs[row, symbol]
        weight[0], paths = 1.0, 1
        costs[row] = 0.0
        for position in range(window):
            _normalise(weight, paths)
            expected = 0.0
            for path in range(paths):
                if weight[path] > 0.0:
                    law = laws[path]
                    partial, _ = law_of.propose(at[path], gain, growth, False, law, room)
                    partials[path] = partial
                    its = _step_cost(at[path], law, partial, gain, table, moved, spread)
                    expected += weight[path] * its
            costs[row] += expected
            if position + 1 == window:
                break
            for path in range(paths):
                _weigh(laws[path], gain, weight[path], likely, path, paths)
            count = n * paths
            paths_before, paths = paths, min(followed, count)
            for path in range(paths):
                best = 0
                for number in range(1, count):
                    if likely[number] > likely[best]:
                        best = number
                weight[path] = max(likely[best], 0.0)
                likely[best] = -1.0
                if weight[path] > 0.0:
                    earlier, shown = best % paths_before, best // paths_before
                    law, partial = laws[earlier], partials[earlier]
                    law_of.correct(at[earlier], law, gain, partial, shown, posterior)
                    predict_dense(posterior, transition, onward[path])
            at, onward = onward, at


@part
def _step_cost(
    belief: Floats,
    law: Floats,
    partial: int,
    gain: float,
    table: Floats,
    moved: Floats,
    spread: Floats,
) -> float:
    """Return the expected distance of one symbol; `table[y, x]` is D(x, y)."""
    n = len(belief)
    moved[:], spread[:] = 0.0, 0.0
    for y in range(n):
        fill, mass = law[law_of.FILL, y], law[law_of.MASS, y]
        for x in range(n):
            moved[x] += (1.0 - law[law_of.OWN, x]) * fill * table[y, x]
            spread[x] += mass * table[y, x]
    if partial >= 0:
        moves = 1.0 - law[law_of.OWN, partial]
        moved[partial] = 0.0
        for y in range(n):
            moved[partial] += moves * law[law_of.PARTIAL_FILL, y] * table[y, partial]
    total_moved = total_spread = total_mass = 0.0
    for x in range(n):
        total_moved += belief[x] * moved[x]
        total_spread += belief[x] * spread[x]
        total_mass += law[law_of.MASS, x]
    return (gain * total_moved + total_spread) / (gain + total_mass)


@part
def _weigh(law: Floats, gain: float, weight: float, likely: Floats, path: int, paths: int) -> None:
    """Write how likely each symbol is to come next on a path, and the path to be taken."""
    n = law.shape[1]
    if not weight > 0.0:
        for y in range(n):
            likely[y * paths + path] = 0.0
        return
    total = 0.0
    for y in range(n):
        inside = law[law_of.SUPPORT, y] > 0.0
        share = law[law_of.MASS, y] + gain * law[law_of.MARGINAL, y] if inside else 0.0
        likely[y * paths + path] = share
        total += share
    for y in range(n):
        likely[y * paths + path] = likely[y * paths + path] / total * weight


@part
def _normalise(weight: Floats, paths: int) -> None:
    total = 0.0
    for path in range(paths):
        total += weight[path]
    for path in range(paths):
        weight[path] /= total
