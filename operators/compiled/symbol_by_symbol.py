"""The expected cost of releasing a batch symbol by symbol, stream by stream.

The same operations in the same order as `ProductLaw` of `operators.sip.batches.symbol_by_symbol`,
with the kernel for 0/1 distance. Releases without weight change nothing, and are left out.
"""

import numpy as np

from operators.compiled import hamming_law as law_of
from operators.compiled.compiling import entry_point, part
from operators.compiled.markov_step import predict_dense
from operators.mechanism import Array, Floats, Integers


def followed_cost(
    belief: Floats,
    transition: Floats,
    table: Floats,
    window: int,
    followed: int,
    gain: float,
    growth: float,
) -> Floats:
    """For each column of `belief`; no symbol is at a distance from itself."""
    beliefs, cost = np.ascontiguousarray(belief.T), np.empty(belief.shape[1])
    constants = _constant(transition), _constant(table.T)
    _followed_cost(beliefs, *constants, window, followed, gain, growth, cost)
    return cost


@entry_point
def _followed_cost(
    beliefs: Floats,
    transition: Floats,
    table: Floats,
    window: int,
    followed: int,
    gain: float,
    growth: float,
    costs: Floats,
) -> None:
    n = beliefs.shape[1]
    laws = np.empty((followed, law_of.LAW_ROWS, n))
    partials, order, rank = _indices(followed), _indices(n), _indices(n)
    room = np.empty((law_of.SCRATCH_ROWS, n))
    at, onward = np.empty((followed, n)), np.empty((followed, n))
    weight, likely = np.empty(followed), np.empty(n * followed)
    moved, spread, posterior = np.empty(n), np.empty(n), np.empty(n)
    for row in range(len(beliefs)):
        at[0], weight[0], paths = beliefs[row], 1.0, 1
        costs[row] = 0.0
        for position in range(window):
            _normalise(weight, paths)
            expected = 0.0
            for path in range(paths):
                if weight[path] > 0.0:
                    law = laws[path]
                    partial, _ = law_of.propose(
                        at[path], gain, growth, False, law, room, order, rank
                    )
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
    """The expected distance of one symbol; `table[y, x]` is D(x, y)."""
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
    """How likely each symbol is to come next on a path, and the path to be taken."""
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


@part
def _indices(count: int) -> Integers:
    return np.empty(count, dtype=np.int64)


def _constant(column: Array) -> Array:
    """A copy that can be written to: one type, one compiled function."""
    return np.array(column, order="C")
