"""The law over all batches that likely sequences propose: repaired, drawn from, and learned from.

The same operations in the same order as `ReleaseLaw`, `Assignment` and `SequenceLaw` of
`operators.sip`. Arrays are `(rows, batches)`: one stream after the other. The last argument of each
is room for one number of every batch.
"""

import numpy as np

from operators.compiled.charges import charge
from operators.compiled.compiling import entry_point, part
from operators.mechanism import Array, Floats, Integers


@entry_point
def repair(
    priors: Floats,
    targets: Integers,
    gain: float,
    growth: float,
    marginals: Floats,
    masses: Floats,
    charges: Integers,
    is_target: Array,
) -> None:
    """Marginal and repaired mass of every batch, and what a release leaks."""
    rows, batches = priors.shape
    for row in range(rows):
        marginal, mass = marginals[row], masses[row]
        marginal[:], is_target[:] = 0.0, False
        for batch in range(batches):
            marginal[targets[row, batch]] += priors[row, batch]
            is_target[targets[row, batch]] = True
        constant = is_target.sum() == 1
        worst = 1.0
        for batch in range(batches):
            mass[batch] = 0.0
            if is_target[batch]:
                if constant:
                    marginal[batch] = 1.0
                mass[batch] = max(marginal[batch], 1.0 - growth * marginal[batch])
                worst = max(worst, _ratio(mass[batch], marginal[batch], gain, constant))
        charges[row] = charge(worst, 0)


@part
def _ratio(mass: float, marginal: float, gain: float, constant: bool) -> float:
    """How far the chances of one release are apart from what it is expected to be."""
    largest, released = mass + gain, mass + gain * marginal
    smallest = largest if constant else mass
    upper = largest / released if released > 0.0 else np.inf
    lower = released / smallest if smallest > 0.0 else np.inf
    return max(upper, lower)


@entry_point
def sample(
    masses: Floats,
    targets: Integers,
    gain: float,
    truths: Integers,
    uniforms: Floats,
    drawn: Integers,
    cumulative: Floats,
) -> None:
    """Draw the number of a batch by inversion."""
    rows, batches = masses.shape
    for row in range(rows):
        proposed, total = targets[row, truths[row]], 0.0
        for batch in range(batches):
            weight = masses[row, batch]
            if batch == proposed:
                weight += gain
            total += weight
            cumulative[batch] = total
        bound, number = uniforms[row] * total, 0
        for batch in range(batches):
            if cumulative[batch] <= bound:
                number += 1
        drawn[row] = number


@entry_point
def learned(
    priors: Floats,
    targets: Integers,
    marginals: Floats,
    masses: Floats,
    gain: float,
    released: Integers,
    told: Floats,
    posterior: Floats,
) -> None:
    """P(symbol | everything released), `(window, n, rows)`, from the numbers of releases."""
    rows, batches = priors.shape
    window, symbols = told.shape[:2]
    for row in range(rows):
        shown = released[row]
        mass = masses[row, shown]
        divisor, total = mass + gain * marginals[row, shown], 0.0
        more, less = (mass + gain) / divisor, mass / divisor
        for batch in range(batches):
            ratio = more if targets[row, batch] == shown else less
            posterior[batch] = priors[row, batch] * ratio
            total += posterior[batch]
        for batch in range(batches):
            posterior[batch] /= total
        later = batches
        for position in range(window):
            later //= symbols
            earlier = batches // (later * symbols)
            for symbol in range(symbols):
                told[position, symbol, row] = _share(posterior, symbol, symbols, earlier, later)


@part
def _share(posterior: Floats, symbol: int, symbols: int, earlier: int, later: int) -> float:
    """The sum over batches that have a symbol at a position: over what comes before it first."""
    share = 0.0
    for after in range(later):
        some = 0.0
        for before in range(earlier):
            some += posterior[(before * symbols + symbol) * later + after]
        share += some
    return share
