"""The arithmetic of `crr_step`, compiled by numba.

Sorted by belief, the most likely symbols are kept, the next one may be kept in part, and all others
move to the kept ones; then the repair makes it private. Specification: the modules
`fugu.operators.sip.hamming_kernel` and `fugu.operators.sip.release_law`, whose names are used here.

`chain` is the transition matrix. `scratch` is `(8, symbols)`, of which the first row begins with
e^eps - 1 and e^eps; only one call at a time may use it.
"""

from typing import Any

from numba import njit

_TIE = 1e-12


def _release_one(
    belief: Any, symbol: int, uniform: float, chain: Any, scratch: Any
) -> tuple[int, float]:
    """The released symbol and its confidence; the belief advances in place."""
    symbols = len(belief)
    gain, growth = scratch[0, 0], scratch[0, 1]
    floor = 1.0 / (growth + 1.0)
    order, accuracies = scratch[1], scratch[2]
    fills, shares, masses, marginals, posterior = scratch[3:8]

    # Ranks, by insertion: the order of equal beliefs stays.
    for y in range(symbols):
        place = y
        while place > 0 and belief[int(order[place - 1])] < belief[y]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = y

    # How many to keep: the closed forms of the expected accuracy.
    first = belief[int(order[0])]
    kept_mass = big_squares = small_squares = small_mass = deficit = 0.0
    small_count = 0
    best = -1.0
    lacking, lacking_rest, lacking_deficit = 0, 0.0, 0.0
    for count in range(1, symbols + 1):
        b = belief[int(order[count - 1])]
        kept_mass += b
        if b < floor:
            small_squares += b * b
            small_mass += b
            small_count += 1
            deficit += floor - b
        else:
            big_squares += b * b
        rest = max(0.0, 1.0 - kept_mass)
        if count == 1:
            accuracy = b
        elif rest >= deficit:
            surplus = rest - deficit
            accuracy = big_squares + floor * small_mass + first * surplus + gain * kept_mass
            accuracy /= growth
        else:
            share = rest / deficit
            lifted = small_count * floor - small_mass
            hit = big_squares + small_mass
            hit -= growth * (small_squares + share * (floor * small_mass - small_squares))
            repaired = kept_mass - small_mass + small_count
            repaired -= growth * (small_mass + share * lifted)
            accuracy = (hit + gain * kept_mass) / (gain + repaired)
        if rest > deficit and deficit > 0.0:
            lacking, lacking_rest, lacking_deficit = count, rest, deficit
        accuracies[count - 1] = accuracy
        best = max(best, accuracy)
    kept = symbols
    while accuracies[kept - 1] < best - _TIE:
        kept -= 1

    # Is it better to keep one more in part?
    partial, own, into = -1, 0.0, 0.0
    if 0 < lacking < symbols:
        candidate = int(order[lacking])
        b = belief[candidate]
        surplus = lacking_rest - lacking_deficit
        if surplus < floor and lacking_rest >= floor and b < floor:
            some = (growth + 1.0) * surplus
            others = lacking_rest - b
            in_part = min(max(surplus * (1.0 - (growth + 1.0) * b) / others, 0.0), 1.0)
            spread = others * (1.0 - in_part) + b * (1.0 - some)
            marginal = b * some + others * in_part
            total = max(marginal, max(some, in_part) - growth * marginal)
            hit = b * total + gain * b * some
            for place in range(lacking):
                b = belief[int(order[place])]
                marginal = b + spread * max(0.0, floor - b) / lacking_deficit
                mass = max(marginal, 1.0 - growth * marginal)
                hit += b * mass + gain * b
                total += mass
            if hit / (gain + total) > best + _TIE:
                kept, partial, own, into = lacking, candidate, some, in_part

    released = int(order[0])
    if kept == 1 and partial < 0:  # constant
        for x in range(symbols):
            posterior[x] = belief[x]
    else:
        # The proposal: what moves to each kept symbol; -1 marks those that are not kept.
        for y in range(symbols):
            fills[y] = -1.0
            shares[y] = 0.0
        rest = deficit = 0.0
        for place in range(symbols):
            b = belief[int(order[place])]
            if place < kept:
                deficit += max(0.0, floor - b)
            else:
                rest += b
        scale = deficit if partial >= 0 else max(rest, deficit)
        if scale == 0.0:
            scale = 1.0
        total = 0.0
        for place in range(kept):
            y = int(order[place])
            shares[y] = max(0.0, floor - belief[y]) / scale
            fills[y] = (1.0 - into) * shares[y]
            total += fills[y]
        moved = 0.0
        if partial >= 0:
            moved = belief[partial] * (1.0 - own)
            rest -= belief[partial]
            fills[partial] = into
        else:
            fills[released] += max(0.0, 1.0 - total)

        # The repair, and the draw by inversion in the order of symbols.
        moves = fills[symbol] < 0.0
        total = 0.0
        for y in range(symbols):
            if fills[y] < 0.0:
                continue
            stays = own if y == partial else 1.0
            marginal = belief[y] * stays + rest * fills[y] + moved * shares[y]
            mass = max(marginal, max(stays, fills[y]) - growth * marginal)
            masses[y] = mass
            if y == symbol:
                mass += gain * stays
            if moves:
                mass += gain * fills[y]
            elif symbol == partial:
                mass += gain * (1.0 - own) * shares[y]
            total += mass
            marginals[y] = total
        left = uniform * total
        for y in range(symbols):
            if fills[y] >= 0.0 and left < marginals[y]:
                released = y
                break

        # What the release says: Bayes.
        mass = masses[released]
        total = 0.0
        for x in range(symbols):
            if fills[x] < 0.0:
                ratio = mass + gain * fills[released]
            elif x == partial:
                ratio = mass + gain * (1.0 - own) * shares[released]
            else:
                ratio = mass
            if x == released:
                ratio += gain * (own if x == partial else 1.0)
            posterior[x] = belief[x] * ratio
            total += posterior[x]
        for x in range(symbols):
            posterior[x] /= total

    # Predict.
    for v in range(symbols):
        belief[v] = 0.0
    total = 0.0
    for x in range(symbols):
        for v in range(symbols):
            belief[v] += posterior[x] * chain[x, v]
    for v in range(symbols):
        total += belief[v]
    for v in range(symbols):
        belief[v] /= total
    return released, posterior[released]


_compiled: Any = njit(cache=True, nogil=True)
release_one: Any = _compiled(_release_one)


def _release_rows(
    beliefs: Any,
    rows: Any,
    symbols: Any,
    uniforms: Any,
    chain: Any,
    scratch: Any,
    released: Any,
    confidences: Any,
) -> None:
    """`release_one` for one record after the other; rows may come again."""
    for place in range(len(rows)):
        released[place], confidences[place] = release_one(
            beliefs[rows[place]], symbols[place], uniforms[place], chain, scratch
        )


release_rows: Any = _compiled(_release_rows)
