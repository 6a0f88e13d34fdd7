"""The proposal of bounded conditional randomized response for one belief, symbol by symbol.

The same operations in the same order as `hamming_kernel`, `stay_or_fill` and `release_law` of
`operators.sip`, which say what they mean. One row at a time needs no arrays of rows, and no masks
for what does not apply to it.

A law is a `(7, n)` table, of which the rows are named below; what is one number for all symbols is
returned. `partial` is the symbol that is kept partially, or -1.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import inlined
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.hamming_kernel import TIE

SUPPORT, OWN, FILL, PARTIAL_FILL, MARGINAL, LARGEST, MASS = range(7)
LAW_ROWS = 7
RANKED, KEPT, REST, DEFICIT, WEIGHTS = range(5)
_SCRATCH_ROWS = 5
_SORTED_BY_INSERTION = 64
"""The most symbols that are sorted by insertion; of more, merging is faster."""


class Room(NamedTuple):
    """Hold what proposing writes to on its way."""

    scratch: Floats
    order: Integers
    rank: Integers

    @classmethod
    def of(cls, symbols: int) -> "Room":
        """Make room for laws over so many symbols."""
        order, rank = np.empty(symbols, dtype=np.int64), np.empty(symbols, dtype=np.int64)
        return cls(np.empty((_SCRATCH_ROWS, symbols)), order, rank)


@inlined
def propose(
    belief: Floats, gain: float, growth: float, full_support: bool, law: Floats, room: Room
) -> tuple[int, bool]:
    """Write the repaired law for a belief; its partial symbol, and whether it is constant."""
    partial, constant = choose(belief, gain, growth, full_support, law, room)
    _repair(belief, growth, law, partial, constant)
    return partial, constant


@inlined
def choose(
    belief: Floats, gain: float, growth: float, full_support: bool, law: Floats, room: Room
) -> tuple[int, bool]:
    """Write the proposal for a belief; its partial symbol, and whether it is constant."""
    symbols = len(belief)
    if full_support:
        for y in range(symbols):
            law[SUPPORT, y] = law[OWN, y] = 1.0
            law[FILL, y] = law[PARTIAL_FILL, y] = 0.0
        return -1, symbols == 1
    floor = 1.0 / (growth + 1.0)
    scratch, order, rank = room.scratch, room.order, room.rank
    _rank(belief, floor, scratch, order, rank)
    best, kept = _best_whole(symbols, gain, growth, floor, scratch)
    partial = _partial_candidate(belief, growth, floor, law, scratch, rank)
    if partial >= 0:
        _repair(belief, growth, law, partial, False)
        hit, staying = belief[0] * law[MASS, 0], belief[0] * law[OWN, 0]
        mass = law[MASS, 0]
        for y in range(1, symbols):
            hit += belief[y] * law[MASS, y]
            staying += belief[y] * law[OWN, y]
            mass += law[MASS, y]
        if (hit + gain * staying) / (gain + mass) > best + TIE:
            return partial, False
    rest, deficit = scratch[REST, kept - 1], scratch[DEFICIT, kept - 1]
    scale = max(rest, deficit)
    if not scale > 0.0:
        scale = 1.0
    for y in range(symbols):
        inside = rank[y] < kept
        law[SUPPORT, y] = 1.0 if inside else 0.0
        law[OWN, y] = 1.0 if inside else 0.0
        law[FILL, y] = (max(0.0, floor - belief[y]) if inside else 0.0) / scale
        law[PARTIAL_FILL, y] = 0.0
    total = law[FILL, 0]
    for y in range(1, symbols):
        total += law[FILL, y]
    law[FILL, order[0]] += max(0.0, 1.0 - total)
    if kept == symbols:
        for y in range(symbols):
            law[FILL, y] = 0.0
    return -1, kept == 1


@inlined
def _repair(belief: Floats, growth: float, law: Floats, partial: int, constant: bool) -> None:
    """Write marginal, largest entries and repaired mass of a proposal."""
    symbols = len(belief)
    from_partial = from_others = moved = 0.0
    for y in range(symbols):
        stays = 1.0 - law[OWN, y]
        if y == partial:
            from_partial += belief[y] * stays
            moved += stays
        else:
            from_others += belief[y] * stays
    for y in range(symbols):
        own, fill, partial_fill = law[OWN, y], law[FILL, y], law[PARTIAL_FILL, y]
        if constant:
            marginal = own
        else:
            marginal = belief[y] * own + from_others * fill + from_partial * partial_fill
        stays = own + (1.0 - own) * (partial_fill if y == partial else fill)
        largest = max(max(stays, fill), moved * partial_fill)
        law[MARGINAL, y] = marginal
        law[LARGEST, y] = largest
        law[MASS, y] = max(marginal, largest - growth * marginal) if law[SUPPORT, y] > 0.0 else 0.0


@inlined
def correct(
    belief: Floats, law: Floats, gain: float, partial: int, released: int, posterior: Floats
) -> None:
    """Write the posterior after a release."""
    mass = law[MASS, released]
    divisor = mass + gain * law[MARGINAL, released]
    total = 0.0
    for x in range(len(belief)):
        own = law[OWN, x]
        column = (1.0 - own) * law[PARTIAL_FILL if x == partial else FILL, released]
        if x == released:
            column += own
        posterior[x] = belief[x] * ((mass + gain * column) / divisor)
        total = posterior[x] if x == 0 else total + posterior[x]
    for x in range(len(belief)):
        posterior[x] /= total


@inlined
def _rank(belief: Floats, floor: float, scratch: Floats, order: Integers, rank: Integers) -> None:
    symbols = len(belief)
    if symbols <= _SORTED_BY_INSERTION:
        _insert(belief, scratch, order)
    else:
        _merge(belief, order, rank)
    kept = deficit = 0.0
    for place in range(symbols):
        rank[order[place]] = place
        share = scratch[RANKED, place] = belief[order[place]]
        lacks = max(0.0, floor - share)
        kept = share if place == 0 else kept + share
        deficit = lacks if place == 0 else deficit + lacks
        scratch[KEPT, place] = kept
        scratch[DEFICIT, place] = deficit
        scratch[REST, place] = max(0.0, 1.0 - kept)


@inlined
def _insert(belief: Floats, scratch: Floats, order: Integers) -> None:
    """Order symbols by falling share; among equals the first one comes first."""
    for y in range(len(belief)):
        share, place = belief[y], y
        while place > 0 and scratch[RANKED, place - 1] < share:
            scratch[RANKED, place] = scratch[RANKED, place - 1]
            order[place] = order[place - 1]
            place -= 1
        scratch[RANKED, place] = share
        order[place] = y


@inlined
def _merge(belief: Floats, order: Integers, spare: Integers) -> None:
    """Order symbols the same way, in longer and longer runs that are in order."""
    symbols, run = len(belief), 1
    for y in range(symbols):
        order[y] = y
    while run < symbols:
        for begin in range(0, symbols, 2 * run):
            middle, end = min(begin + run, symbols), min(begin + 2 * run, symbols)
            left, right = begin, middle
            for place in range(begin, end):
                if right == end or (left < middle and belief[order[left]] >= belief[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
        for place in range(symbols):
            order[place] = spare[place]
        run *= 2


@inlined
def _best_whole(
    symbols: int, gain: float, growth: float, floor: float, scratch: Floats
) -> tuple[float, int]:
    """Return the best accuracy of keeping the first so many symbols, and how many those are."""
    big_squares = small_squares = small_mass = small_count = 0.0
    first = scratch[RANKED, 0]
    best = -np.inf
    for place in range(symbols):
        share = scratch[RANKED, place]
        if share < floor:
            small_squares += share * share
            small_mass += share
            small_count += 1.0
        else:
            big_squares += share * share
        kept, rest, deficit = scratch[KEPT, place], scratch[REST, place], scratch[DEFICIT, place]
        if place == 0:
            accuracy = first
        elif rest >= deficit:
            surplus = max(0.0, rest - deficit)
            accuracy = (big_squares + floor * small_mass + first * surplus + gain * kept) / growth
        else:
            part_of_lift = rest / (deficit if deficit > 0.0 else 1.0)
            lifted = small_count * floor - small_mass
            repaired_hit = (
                big_squares
                + small_mass
                - growth * (small_squares + part_of_lift * (floor * small_mass - small_squares))
            )
            repaired_mass = (
                (kept - small_mass) + small_count - growth * (small_mass + part_of_lift * lifted)
            )
            accuracy = (repaired_hit + gain * kept) / (gain + repaired_mass)
        scratch[WEIGHTS, place] = accuracy
        best = max(best, accuracy)
    kept_symbols = symbols
    while scratch[WEIGHTS, kept_symbols - 1] < best - TIE:
        kept_symbols -= 1
    return best, kept_symbols


@inlined
def _partial_candidate(
    belief: Floats, growth: float, floor: float, law: Floats, scratch: Floats, rank: Integers
) -> int:
    """Write the candidate that keeps one more symbol partially; that symbol, or -1."""
    symbols = len(belief)
    kept = symbols
    while kept > 0 and not (
        scratch[REST, kept - 1] > scratch[DEFICIT, kept - 1] and scratch[DEFICIT, kept - 1] > 0.0
    ):
        kept -= 1
    if kept == 0 or kept == symbols:
        return -1
    rest, deficit = scratch[REST, kept - 1], scratch[DEFICIT, kept - 1]
    surplus = max(0.0, rest - deficit)
    partial_belief = scratch[RANKED, kept]
    if not (surplus < floor and rest >= floor and partial_belief < floor):
        return -1
    into = surplus * (1.0 - (growth + 1.0) * partial_belief) / (rest - partial_belief)
    into = min(max(into, 0.0), 1.0)
    partial = -1
    for y in range(symbols):
        whole = rank[y] < kept
        lift = (max(0.0, floor - belief[y]) if whole else 0.0) / deficit
        law[PARTIAL_FILL, y] = lift
        if rank[y] == kept:
            partial = y
            law[SUPPORT, y] = 1.0
            law[OWN, y] = (growth + 1.0) * surplus
            law[FILL, y] = into
        else:
            law[SUPPORT, y] = 1.0 if whole else 0.0
            law[OWN, y] = 1.0 if whole else 0.0
            law[FILL, y] = (1.0 - into) * lift
    return partial
