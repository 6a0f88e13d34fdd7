"""Compile the law of likely sequences: make it, draw from it, learn from it."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_charges import charge_up_to
from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip.batches.sequence_law import SURELY, TIE, Search, SequenceLaw
from fugu.operators.sip.compiled_integer_law import constant, predict_dense
from fugu.operators.sip.integer_law import LEAST_ROOM, MASS_UP, MOST_WORDS, RATIO_UP
from fugu.operators.sip.privacy_bound import UP, WORDS


class SearchRoom(NamedTuple):
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
    def of(cls, batches: int, kept: int) -> "SearchRoom":
        """Make room for so many batches, of which so many are kept."""
        near, far, unranked = np.empty(batches), np.empty(batches), np.empty(batches)
        nearest, ranked = np.empty(batches, dtype=np.int64), np.empty(kept, dtype=np.int64)
        gathered, used = np.empty(kept), np.empty(kept, dtype=bool)
        return cls(near, nearest, far, unranked, ranked, gathered, used)


def cheapest_targets_compiled(
    prior: Floats, spread: Floats, search: Search
) -> tuple[Integers, Floats]:
    """Search like `cheapest_targets`; targets are `(batches, rows)`, costs `(rows,)`.

    The most likely batches are looked up one after the other, since few are needed.
    """
    by_row = np.ascontiguousarray(prior.T), np.ascontiguousarray(spread.T)
    targets, cost = np.empty(by_row[0].shape, dtype=np.int64), np.empty(len(by_row[0]))
    search = search._replace(table=np.array(search.table.T, order="C"))
    _search(*by_row, search, SearchRoom.of(len(prior), search.kept), targets, cost)
    return np.ascontiguousarray(targets.T), cost


@entry_point
def _search(
    priors: Floats,
    spreads: Floats,
    search: Search,
    room: SearchRoom,
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


def spelled_out(
    belief: Floats, digits: Integers, transition: Floats, table: Floats
) -> tuple[Floats, Floats]:
    """Return P(batch) and sum_i E D(X_i, r_i) for each column of `belief`, `(batches, rows)`.

    It runs the same operations in the same order as `prior` and `expected_distances` of
    `LikelySequences`.

    `digits (window, batches)` are the symbols of each batch, and `table` holds D(x, y).
    """
    beliefs, digits = np.ascontiguousarray(belief.T), constant(digits)
    rows, symbols = beliefs.shape
    priors, spreads = np.empty((2, rows, digits.shape[1]))
    transition, table, room = constant(transition), constant(table), np.empty((3, symbols))
    _spell(beliefs, transition, table, digits, room, priors, spreads)
    return priors.T, spreads.T


@entry_point
def _spell(
    beliefs: Floats,
    transition: Floats,
    table: Floats,
    digits: Integers,
    room: Floats,
    priors: Floats,
    spreads: Floats,
) -> None:
    window, batches = digits.shape
    symbols = beliefs.shape[1]
    expected = room[2]
    for row in range(len(beliefs)):
        now, following = room[0], room[1]
        prior, spread = priors[row], spreads[row]
        for symbol in range(symbols):
            now[symbol] = beliefs[row, symbol]
        for batch in range(batches):
            prior[batch], spread[batch] = now[digits[0, batch]], 0.0
        for position in range(1, window):
            for batch in range(batches):
                step = transition[digits[position - 1, batch], digits[position, batch]]
                prior[batch] *= step
        total = prior[0]
        for batch in range(1, batches):
            total += prior[batch]
        for batch in range(batches):
            prior[batch] /= total
        for position in range(window):
            for released in range(symbols):
                far = now[0] * table[0, released]
                for truth in range(1, symbols):
                    far += now[truth] * table[truth, released]
                expected[released] = far
            for batch in range(batches):
                spread[batch] += expected[digits[position, batch]]
            predict_dense(now, transition, following)
            now, following = following, now


class CompiledSequenceLaw(SequenceLaw):
    """Draw, charge and learn like `SequenceLaw`, with the same bits, stream after stream.

    It takes the same operations in the same order as `SharesLaw` and `FewShares`, where every truth
    has one target. Arrays are `(rows, batches)`. `commons` is U, `totals` is G, and `constants` is
    the batch that is always released, or -1.
    """

    @property
    def charge(self) -> Integers:
        return self.laws.charges

    def release(self, batches: Integers, words: Words) -> Integers:
        drawn = np.empty(batches.shape[1], dtype=np.int64)
        _sample(self.laws, self._by_row[1], self.number(batches), words[0].copy(), drawn)
        return self.digits[:, drawn]

    def learned(self, released: Integers) -> Floats:
        told = np.empty((len(released), self.walk.symbols, released.shape[1]))
        _learn(*self._by_row, self.laws, self.number(released), told, np.empty(len(self.prior)))
        return told

    def likelihood(self, numbers: Integers) -> Floats:
        laws, rows = self.laws, np.arange(len(numbers))
        common = laws.commons[rows, numbers]
        words = np.where(self.targets == numbers, common + laws.totals, common).astype(np.float64)
        return np.where(laws.constants < 0, words, 1.0)

    @cached_property
    def _by_row(self) -> tuple[Floats, Integers]:
        return np.ascontiguousarray(self.prior.T), np.ascontiguousarray(self.targets.T)

    @cached_property
    def laws(self) -> "Laws":
        """Return the words of every row."""
        priors, targets = self._by_row
        rows, batches = priors.shape
        bound, laws = self.bound, Laws.of(rows, batches)
        at_most = min(int(charge_of_ratio(np.array([bound.growth]))[0]), bound.charge)
        limits = _Limits(bound.growth, bound.gain, bound.reserve_of_rows(batches, 1), at_most)
        _repair_all(priors, targets, limits, self.doubts, laws, LawRoom.of(batches))
        return laws


class _Limits(NamedTuple):
    """Hold the constants of a law: E, g, the reserve of words, and the largest charge."""

    growth: float
    gain: float
    reserve: float
    at_most: int


class Laws(NamedTuple):
    """Hold one law for each row, and the charge of its release."""

    commons: Words
    totals: Words
    constants: Integers
    charges: Integers

    @classmethod
    def of(cls, rows: int, batches: int) -> "Laws":
        """Make room for so many laws."""
        commons, totals = np.empty((rows, batches), np.uint64), np.empty(rows, np.uint64)
        return cls(commons, totals, np.empty(rows, np.int64), np.empty(rows, np.int64))


class LawRoom(NamedTuple):
    """Hold what making a law writes to on its way."""

    is_target: Array
    marginal: Floats
    least: Floats

    @classmethod
    def of(cls, batches: int) -> "LawRoom":
        """Make room for so many batches."""
        return cls(np.empty(batches, dtype=bool), np.empty(batches), np.empty(batches))


@entry_point
def _repair_all(
    priors: Floats, targets: Integers, limits: _Limits, doubts: Floats, laws: Laws, room: LawRoom
) -> None:
    """Make the targets of every batch private; infinite doubts leave a constant."""
    for row in range(len(priors)):
        prior, target, doubt = priors[row], targets[row], doubts[row]
        targets_used = _gather(prior, target, room)
        top = int(np.argmax(room.marginal))
        words = 0.0
        if targets_used > 1 and np.isfinite(doubt):
            words = _words(limits, doubt, room)
        ratio = -1.0
        if words >= LEAST_ROOM:
            total = np.uint64(words)
            ratio = _repair(prior, target, limits, doubt, total, top, laws.commons[row], room)
            laws.totals[row] = total
        laws.constants[row] = -1 if ratio > 0.0 else top
        laws.charges[row] = charge_up_to(ratio, limits.growth, limits.at_most) if ratio > 0.0 else 0


@part
def _gather(prior: Floats, target: Integers, room: LawRoom) -> int:
    """Write b(r) of every batch r; return how many there are that others go to."""
    room.marginal[:], room.is_target[:] = 0.0, False
    for batch in range(len(prior)):
        room.marginal[target[batch]] += prior[batch]
        room.is_target[target[batch]] = True
    used = 0
    for batch in range(len(prior)):
        used += room.is_target[batch]
    return used


@part
def _words(limits: _Limits, doubt: float, room: LawRoom) -> float:
    """Return how many words may depend on the truth."""
    need, largest = 0.0, 1.0 * UP
    for batch in range(len(room.marginal)):
        if room.is_target[batch]:
            marginal = room.marginal[batch]
            least = largest - limits.growth * (marginal * (1.0 - doubt))
            need += max(least, marginal * (1.0 + doubt)) / limits.gain
    words: float = (WORDS - limits.reserve) / ((1.0 + need * MASS_UP) * UP)
    return words


@part
def _repair(
    prior: Floats,
    target: Integers,
    limits: _Limits,
    doubt: float,
    total: np.uint64,
    top: int,
    common: Words,
    room: LawRoom,
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
            least[batch] = np.ceil(max(most - limits.growth * low, high) / limits.gain * UP) + 1.0
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
    return min(limits.growth, worst * RATIO_UP)


@entry_point
def _sample(laws: Laws, targets: Integers, truths: Integers, words: Words, drawn: Integers) -> None:
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
def _learn(
    priors: Floats,
    targets: Integers,
    laws: Laws,
    released: Integers,
    told: Floats,
    posterior: Floats,
) -> None:
    """Write P(symbol | everything released), `(window, n, rows)`, from the numbers of releases."""
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
    """Return the sum over batches with a symbol at a position: over what comes before it first."""
    share = 0.0
    for after in range(later):
        some = 0.0
        for before in range(earlier):
            some += posterior[(before * symbols + symbol) * later + after]
        share += some
    return share
