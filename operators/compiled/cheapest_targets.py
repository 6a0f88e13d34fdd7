"""The search of `operators.sip.batches.cheapest_targets`, stream by stream, with the same bits.

The most likely batches are looked up one after the other, since few are needed.
"""

import numpy as np

from operators.compiled.compiling import entry_point
from operators.mechanism import Floats, Integers


def cheapest_targets_compiled(
    prior: Floats,
    spread: Floats,
    digits: Integers,
    table: Floats,
    kept: int,
    gain: float,
    growth: float,
    tie: float,
    surely: float,
) -> tuple[Integers, Floats]:
    """As `cheapest_targets`; `(batches, rows)`, and `(rows,)`."""
    by_row = np.ascontiguousarray(prior.T), np.ascontiguousarray(spread.T)
    targets, cost = np.empty(by_row[0].shape, dtype=np.int64), np.empty(len(by_row[0]))
    _search(
        *by_row,
        digits,
        np.array(table.T, order="C"),
        kept,
        gain,
        growth,
        tie,
        surely,
        targets,
        cost,
    )
    return np.ascontiguousarray(targets.T), cost


@entry_point
def _search(
    priors: Floats,
    spreads: Floats,
    digits: Integers,
    table: Floats,
    kept: int,
    gain: float,
    growth: float,
    tie: float,
    surely: float,
    all_targets: Integers,
    all_costs: Floats,
) -> None:
    rows, batches = priors.shape
    window = len(digits)
    near, nearest = np.empty(batches), np.empty(batches, dtype=np.int64)
    ranked, is_ranked = np.empty(kept, dtype=np.int64), np.empty(batches, dtype=np.bool_)
    gathered, used = np.empty(kept), np.empty(kept, dtype=np.bool_)
    far, stale = np.empty(batches), np.zeros(kept, dtype=np.bool_)
    moved_before = np.zeros(batches + 1)
    for row in range(rows):
        prior, spread, targets = priors[row], spreads[row], all_targets[row]
        near[:], nearest[:], is_ranked[:] = np.inf, 0, False
        bottom, top = spread.min(), spread.max()
        least = np.inf
        for place in range(kept):
            target, likeliest = -1, -1.0
            for batch in range(batches):
                if prior[batch] > likeliest and not is_ranked[batch]:
                    target, likeliest = batch, prior[batch]
            ranked[place], is_ranked[target] = target, True
            far[:] = 0.0
            for position in range(window):
                released = digits[position, target]
                for batch in range(batches):
                    far[batch] += table[released, digits[position, batch]]
            gathered[place], used[place] = 0.0, False
            first = batches
            for batch in range(batches):
                if far[batch] < near[batch]:
                    first = min(first, batch)
                    if place > 0:
                        stale[nearest[batch]] = True
                    near[batch], nearest[batch] = far[batch], place
                    stale[place] = True
            moved = float(moved_before[first])
            for batch in range(first, batches):
                moved += prior[batch] * near[batch]
                moved_before[batch + 1] = moved
            for earlier in range(place + 1):
                if stale[earlier]:
                    gathered[earlier], used[earlier] = 0.0, False
            for batch in range(batches):
                if stale[nearest[batch]]:
                    gathered[nearest[batch]] += prior[batch]
                    used[nearest[batch]] = True
            stale[: place + 1] = False
            apart = total = 0.0
            for earlier in range(place + 1):
                if used[earlier]:
                    mass = max(gathered[earlier], 1.0 - growth * gathered[earlier])
                    apart += mass * spread[ranked[earlier]]
                    total += mass
            cost = (gain * moved + apart) / (gain + total)
            if cost < least - tie:
                least = cost
                for batch in range(batches):
                    targets[batch] = ranked[nearest[batch]]
            beyond, left = 0.0, 1.0
            for earlier in range(place + 1):
                if used[earlier]:
                    likely = prior[ranked[earlier]]
                    beyond += (1.0 - growth * likely) * (spread[ranked[earlier]] - least)
                    left -= likely
            beyond -= growth * left * (top - least) + gain * least
            if bottom >= least and beyond >= surely * growth * top:
                break
        all_costs[row] = least
