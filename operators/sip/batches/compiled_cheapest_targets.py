"""The search of `operators.sip.batches.cheapest_targets`, stream by stream, with the same bits.

The most likely batches are looked up one after the other, since few are needed.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import entry_point
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.batches.cheapest_targets import SURELY, TIE, Search


class Room(NamedTuple):
    """Make room for a search: how near each batch is to a target; of the batches kept so far their
    numbers, what is gathered there, and whether anything is."""

    near: Floats
    nearest: Integers
    far: Floats
    unranked: Floats
    ranked: Integers
    gathered: Floats
    used: Array

    @classmethod
    def of(cls, batches: int, kept: int) -> "Room":
        """Make room for so many batches, of which so many are kept."""
        near, far, unranked = np.empty(batches), np.empty(batches), np.empty(batches)
        nearest, ranked = np.empty(batches, dtype=np.int64), np.empty(kept, dtype=np.int64)
        gathered, used = np.empty(kept), np.empty(kept, dtype=bool)
        return cls(near, nearest, far, unranked, ranked, gathered, used)


def cheapest_targets_compiled(
    prior: Floats, spread: Floats, search: Search
) -> tuple[Integers, Floats]:
    """Search like `cheapest_targets`; targets are `(batches, rows)`, costs `(rows,)`."""
    by_row = np.ascontiguousarray(prior.T), np.ascontiguousarray(spread.T)
    targets, cost = np.empty(by_row[0].shape, dtype=np.int64), np.empty(len(by_row[0]))
    search = search._replace(table=np.array(search.table.T, order="C"))
    _search(*by_row, search, Room.of(len(prior), search.kept), targets, cost)
    return np.ascontiguousarray(targets.T), cost


@entry_point
def _search(
    priors: Floats,
    spreads: Floats,
    search: Search,
    room: Room,
    all_targets: Integers,
    all_costs: Floats,
) -> None:
    rows, batches = priors.shape
    digits, table, gain, growth = search.digits, search.table, search.gain, search.growth
    near, nearest, far, unranked = room.near, room.nearest, room.far, room.unranked
    between = search.between
    ranked, gathered, used = room.ranked, room.gathered, room.used
    for row in range(rows):
        prior, spread, targets = priors[row], spreads[row], all_targets[row]
        near[:], nearest[:] = np.inf, 0
        bottom, top = spread[0], spread[0]
        for batch in range(batches):
            unranked[batch] = prior[batch]
            bottom, top = min(bottom, spread[batch]), max(top, spread[batch])
        least = np.inf
        for place in range(search.kept):
            target, likeliest = -1, -1.0
            for batch in range(batches):
                if unranked[batch] > likeliest:
                    target, likeliest = batch, unranked[batch]
            ranked[place], unranked[target] = target, -1.0
            if len(between):
                for batch in range(batches):
                    far[batch] = between[target, batch]
            else:
                far[:] = 0.0
                for position in range(len(digits)):
                    released = digits[position, target]
                    for batch in range(batches):
                        far[batch] += table[released, digits[position, batch]]
            gathered[: place + 1], used[: place + 1] = 0.0, False
            moved = 0.0
            for batch in range(batches):
                closer = far[batch] < near[batch]
                near[batch] = far[batch] if closer else near[batch]
                nearest[batch] = place if closer else nearest[batch]
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
            if cost < least - TIE:
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
            if bottom >= least and beyond >= SURELY * growth * top:
                break
        all_costs[row] = least
