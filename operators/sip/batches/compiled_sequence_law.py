"""The integer law over all batches that likely sequences propose: made, drawn from, learned from.

The same operations in the same order as `SharesLaw`, `FewShares` and `SequenceLaw` of
`operators.sip`, where every truth has one target. Arrays are `(rows, batches)`: one stream after
the other. `commons` is U, `totals` is G, and `constants` is the batch that is always released,
or -1.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_charges import charge_up_to
from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip.integer_law import LEAST_ROOM, MASS_UP, MOST_WORDS, RATIO_UP
from fugu.operators.sip.privacy_bound import UP, WORDS


class Laws(NamedTuple):
    """One law for each row, and what its release is charged."""

    commons: Words
    totals: Words
    constants: Integers
    charges: Integers

    @classmethod
    def of(cls, rows: int, batches: int) -> "Laws":
        """Room for so many."""
        commons, totals = np.empty((rows, batches), np.uint64), np.empty(rows, np.uint64)
        return cls(commons, totals, np.empty(rows, np.int64), np.empty(rows, np.int64))


class Room(NamedTuple):
    """What making a law writes to on its way."""

    is_target: Array
    marginal: Floats
    least: Floats

    @classmethod
    def of(cls, batches: int) -> "Room":
        """For so many batches."""
        return cls(np.empty(batches, dtype=bool), np.empty(batches), np.empty(batches))


@entry_point
def repair(
    priors: Floats,
    targets: Integers,
    growth: float,
    gain: float,
    reserve: float,
    at_most: int,
    doubts: Floats,
    laws: Laws,
    room: Room,
) -> None:
    """Make the targets of every batch private; infinite doubts leave a constant."""
    for row in range(len(priors)):
        prior, target, doubt = priors[row], targets[row], doubts[row]
        targets_used = _gather(prior, target, room)
        top = int(np.argmax(room.marginal))
        words = 0.0
        if targets_used > 1 and np.isfinite(doubt):
            words = _words(growth, gain, reserve, doubt, room)
        ratio = -1.0
        if words >= LEAST_ROOM:
            total = np.uint64(words)
            ratio = _repair(prior, target, growth, gain, doubt, total, top, laws.commons[row], room)
            laws.totals[row] = total
        laws.constants[row] = -1 if ratio > 0.0 else top
        laws.charges[row] = charge_up_to(ratio, growth, at_most) if ratio > 0.0 else 0


@part
def _gather(prior: Floats, target: Integers, room: Room) -> int:
    """b(r) of every batch r; how many there are that others go to."""
    room.marginal[:], room.is_target[:] = 0.0, False
    for batch in range(len(prior)):
        room.marginal[target[batch]] += prior[batch]
        room.is_target[target[batch]] = True
    used = 0
    for batch in range(len(prior)):
        used += room.is_target[batch]
    return used


@part
def _words(growth: float, gain: float, reserve: float, doubt: float, room: Room) -> float:
    """Return how many words may depend on the truth."""
    need, largest = 0.0, 1.0 * UP
    for batch in range(len(room.marginal)):
        if room.is_target[batch]:
            marginal = room.marginal[batch]
            least = largest - growth * (marginal * (1.0 - doubt))
            need += max(least, marginal * (1.0 + doubt)) / gain
    words: float = (WORDS - reserve) / ((1.0 + need * MASS_UP) * UP)
    return words


@part
def _repair(
    prior: Floats,
    target: Integers,
    growth: float,
    gain: float,
    doubt: float,
    total: np.uint64,
    top: int,
    common: Words,
    room: Room,
) -> float:
    """Write U, and return e to the actual leakage; -1 where the words do not suffice."""
    given = np.float64(total)
    expected, least = room.marginal, room.least
    expected[:] = 0.0
    for batch in range(len(prior)):
        expected[target[batch]] += prior[batch] * given
    most, needed = given * UP, 0.0
    for batch in range(len(prior)):
        least[batch] = 0.0
        if room.is_target[batch]:
            low = expected[batch] * (1.0 - doubt)
            high = expected[batch] * (1.0 + doubt)
            least[batch] = np.ceil(max(most - growth * low, high) / gain * UP) + 1.0
            needed += least[batch]
    if not needed * UP + given < MOST_WORDS:
        return -1.0
    rest = np.uint64(0) - total
    for batch in range(len(prior)):
        common[batch] = np.uint64(least[batch])
        rest -= common[batch]
    common[top] += rest
    worst = 1.0
    for batch in range(len(prior)):
        if room.is_target[batch]:
            words = np.float64(common[batch])
            low = expected[batch] * (1.0 - doubt)
            high = expected[batch] * (1.0 + doubt)
            worst = max(worst, (words * UP + most) / (words + low))
            worst = max(worst, (words * UP + high) / words)
    return min(growth, worst * RATIO_UP)


@entry_point
def sample(laws: Laws, targets: Integers, truths: Integers, words: Words, drawn: Integers) -> None:
    """Draw the number of a batch with one word, in the same steps whatever the truth is."""
    rows, batches = laws.commons.shape
    for row in range(rows):
        if laws.constants[row] >= 0:
            drawn[row] = laws.constants[row]
            continue
        own = targets[row, truths[row]]
        beyond, reached, number = words[row] - laws.totals[row], np.uint64(0), 0
        for batch in range(batches):
            reached += laws.commons[row, batch]
            number += reached <= beyond
        drawn[row] = own if words[row] < laws.totals[row] else number


@entry_point
def learned(
    priors: Floats,
    targets: Integers,
    laws: Laws,
    released: Integers,
    told: Floats,
    posterior: Floats,
) -> None:
    """P(symbol | everything released), `(window, n, rows)`, from the numbers of releases."""
    rows, batches = priors.shape
    window, symbols = told.shape[:2]
    for row in range(rows):
        shown, more, less = released[row], 1.0, 1.0
        if laws.constants[row] < 0:
            less = np.float64(laws.commons[row, shown])
            more = np.float64(laws.commons[row, shown] + laws.totals[row])
        total = 0.0
        for batch in range(batches):
            likelihood = more if targets[row, batch] == shown else less
            posterior[batch] = priors[row, batch] * likelihood
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
