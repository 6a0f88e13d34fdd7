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
    ranked, unranked = np.empty(kept, dtype=np.int64), np.empty(batches)
    gathered, used = np.empty(kept), np.empty(kept, dtype=np.bool_)
    far = np.empty(batches)
    for row in range(rows):
        prior, spread, targets = priors[row], spreads[row], all_targets[row]
        near[:], nearest[:], unranked[:] = np.inf, 0, prior
        bottom, top = spread.min(), spread.max()
        least = np.inf
        for place in range(kept):
            target, likeliest = -1, -1.0
            for batch in range(batches):
                if unranked[batch] > likeliest:
                    target, likeliest = batch, unranked[batch]
            ranked[place], unranked[target] = target, -1.0
            far[:] = 0.0
            for position in range(window):
                released = digits[position, target]
                for batch in range(batches):
                    far[batch] += table[released, digits[position, batch]]
            for batch in range(batches):
                closer = far[batch] < near[batch]
                near[batch] = far[batch] if closer else near[batch]
                nearest[batch] = place if closer else nearest[batch]
            gathered[: place + 1], used[: place + 1] = 0.0, False
            moved = 0.0
            for batch in range(batches):
                gathered[nearest[batch]] += prior[batch]
                used[nearest[batch]] = True
                moved += prior[batch] * near[batch]
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
