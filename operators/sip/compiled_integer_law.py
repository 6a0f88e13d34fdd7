"""Compile the integer law of one belief, and the prediction of the belief that follows."""

from functools import cache
from typing import NamedTuple

import numpy as np

from fugu.operators.budget_units import charge_of_ratio, exact_exp, exact_expm1
from fugu.operators.compiled.compiling import inlined
from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip.compiled_hamming_law import (
    FILL,
    LARGEST,
    MARGINAL,
    MASS,
    OWN,
    PARTIAL_FILL,
    SUPPORT,
    Room,
    choose,
)
from fugu.operators.sip.integer_law import LEAST_ROOM, MASS_UP, MOST_WORDS, RATIO_UP
from fugu.operators.sip.markov_model import SUM_TOLERANCE, Chain, MarkovModel
from fugu.operators.sip.privacy_bound import PART_DOWN, UP, WORDS, PrivacyBound
from fugu.operators.sip.sparse_models import SparseMarkovModel


class CompiledChain(NamedTuple):
    """Hold a first-order chain: a transition matrix, or sparse rows (and an empty matrix)."""

    transition: Floats
    sources: Integers
    columns: Integers
    kept: Floats
    restart: Floats

    @classmethod
    def of(cls, model: Chain) -> "CompiledChain":
        """Copy the numbers of a dense or sparse chain."""
        if isinstance(model, SparseMarkovModel):
            rows = model.rows
            sparse = rows.sources, rows.columns, rows.kept, rows.restart
            return cls(np.zeros((0, 0)), *map(constant, sparse))
        assert isinstance(model, MarkovModel)
        nowhere, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(constant(model.transition), nowhere, nowhere, nothing, nothing)


def constant(column: Array) -> Array:
    """Copy a column that can be written to, as all others: one type, one compiled function."""
    return np.array(column, order="C")


@inlined
def predict(posterior: Floats, chain: CompiledChain, belief: Floats) -> None:
    """Write the belief about the next symbol."""
    if len(chain.transition):
        predict_dense(posterior, chain.transition, belief)
    else:
        _predict_sparse(posterior, chain, belief)


@inlined
def predict_dense(posterior: Floats, transition: Floats, belief: Floats) -> None:
    """Predict like `MarkovModel.predict`."""
    symbols = len(posterior)
    for following in range(symbols):
        belief[following] = 0.0
    for now in range(symbols):
        for following in range(symbols):
            belief[following] += posterior[now] * transition[now, following]
    normalise(belief)


@inlined
def _predict_sparse(posterior: Floats, chain: CompiledChain, belief: Floats) -> None:
    """Predict like `SparseMarkovModel.skip`."""
    symbols, restart = len(posterior), chain.restart
    for following in range(symbols):
        belief[following] = 0.0
    for entry in range(len(chain.sources)):
        belief[chain.columns[entry]] += posterior[chain.sources[entry]] * chain.kept[entry]
    restarted = posterior[0] * restart[0]
    for now in range(1, symbols):
        restarted += posterior[now] * restart[now]
    restarted /= symbols
    for following in range(symbols):
        belief[following] += restarted
    normalise(belief)


@inlined
def normalise(shares: Floats) -> None:
    """Divide by the sum, added in order."""
    total = shares[0]
    for symbol in range(1, len(shares)):
        total += shares[symbol]
    for symbol in range(len(shares)):
        shares[symbol] /= total


@inlined
def is_distribution(belief: Floats) -> bool:
    """Return whether a belief is a distribution, like `checked_belief`."""
    total = belief[0]
    for symbol in range(1, len(belief)):
        total += belief[symbol]
    for symbol in range(len(belief)):
        if belief[symbol] < 0.0:
            return False
    return bool(abs(total - 1.0) <= SUM_TOLERANCE)


KEPT, FILLED, PARTLY, REPAIR = range(4)
WORD_ROWS = 4
VARIES = -1
"""The constant of a law that has none."""
_NOTHING, _ONE = np.uint64(0), np.uint64(1)
_MEAN, _MOST, _NEEDED = MARGINAL, LARGEST, MASS


class Limits(NamedTuple):
    """Hold the constants of laws: those that proposals are chosen with, and E, g, the reserve of
    words and the charge of the largest ratio E, which is never exceeded."""

    chosen_gain: float
    chosen_growth: float
    full_support: bool
    growth: float
    gain: float
    reserve: float
    at_most: int


@cache
def limits_of(bound: PrivacyBound, symbols: int, full_support: bool) -> Limits:
    """Return the constants for an alphabet."""
    chosen = exact_expm1(bound.epsilon), exact_exp(bound.epsilon), full_support
    at_most = min(int(charge_of_ratio(np.array([bound.growth]))[0]), bound.charge)
    return Limits(*chosen, bound.growth, bound.gain, bound.reserve(symbols), at_most)


class Law(NamedTuple):
    """Hold the law of one belief: proposal and words, the partial symbol, G, and the constant.

    It is computed by the operations of `fugu.operators.sip.integer_law` in the same order, one
    symbol after the other. The proposal is in the first rows of `proposed` (`hamming_law`); `words`
    is `(4, n)`, of which the rows are named below.
    """

    proposed: Floats
    words: Words
    partial: int
    total: np.uint64
    constant: int


@inlined
def make(
    belief: Floats, limits: Limits, doubt: float, law: Floats, words: Words, room: Room
) -> tuple[Law, float]:
    """Write the law of a belief; return it, and the largest ratio."""
    partial, is_constant = choose(
        belief, limits.chosen_gain, limits.chosen_growth, limits.full_support, law, room
    )
    total, ratio, constant = weigh(belief, limits, doubt, partial, is_constant, law, words)
    return Law(law, words, partial, total, constant), ratio


@inlined
def weigh(
    belief: Floats,
    limits: Limits,
    doubt: float,
    partial: int,
    is_constant: bool,
    law: Floats,
    words: Words,
) -> tuple[np.uint64, float, int]:
    """Write the words of a proposal: G, the largest ratio, and the constant or `VARIES`."""
    symbols, top = len(belief), 0
    for y in range(1, symbols):
        if belief[y] > belief[top]:
            top = y
    if is_constant or not doubt < np.inf:
        return _ONE, 1.0, top
    less, more = 1.0 - doubt, 1.0 + doubt
    mass = _proposed_mass(belief, limits, less, more, partial, law)
    room = (WORDS - limits.reserve) / ((1.0 + mass * MASS_UP) * UP)
    if not room >= LEAST_ROOM:
        return _ONE, 1.0, top
    total = np.uint64(room)
    others, partly = _share(belief, total, partial, top, law, words)
    all_words = float(total)
    for y in range(symbols):
        own_words = all_words if law[OWN, y] == 1.0 else 0.0
        most = max(max(own_words, law[FILL, y]), law[PARTIAL_FILL, y])
        law[_MOST, y] = most * UP
        law[_MEAN, y] = (
            belief[y] * own_words + others * law[FILL, y] + partly * law[PARTIAL_FILL, y]
        )
    if partial >= 0:
        own_words, kept = float(words[KEPT, partial]), words[KEPT, partial] + words[PARTLY, partial]
        most = max(max(float(kept), law[FILL, partial]), law[PARTIAL_FILL, partial])
        law[_MOST, partial] = most * UP
        mean = belief[partial] * own_words + others * law[FILL, partial]
        law[_MEAN, partial] = mean + partly * law[PARTIAL_FILL, partial]
    _require(limits, less, more, law)
    needed = 0.0
    for y in range(symbols):
        least = law[_NEEDED, y] = np.ceil(law[_NEEDED, y] * UP) + law[SUPPORT, y]
        needed += least
    if not needed * UP + all_words < MOST_WORDS:
        return _ONE, 1.0, top
    left = _NOTHING - total
    for y in range(symbols):
        repair = np.uint64(law[_NEEDED, y])
        words[REPAIR, y] = repair
        left -= repair
    words[REPAIR, top] += left
    law[_NEEDED, top] = float(words[REPAIR, top])
    return total, _ratio(limits, less, more, law), VARIES


@inlined
def _proposed_mass(
    belief: Floats, limits: Limits, less: float, more: float, partial: int, law: Floats
) -> float:
    """Return T."""
    from_partial = from_others = mass = 0.0
    for y in range(len(belief)):
        moved = belief[y] * (1.0 - law[OWN, y])
        if y == partial:
            from_partial += moved
        else:
            from_others += moved
    for y in range(len(belief)):
        own, fill, partial_fill = law[OWN, y], law[FILL, y], law[PARTIAL_FILL, y]
        into = partial_fill if y == partial else fill
        stays = own + (into if own < 1.0 else 0.0)
        law[_MOST, y] = min(1.0, max(max(stays, fill), partial_fill)) * UP
        law[_MEAN, y] = belief[y] * own + from_others * fill + from_partial * partial_fill
    _require(limits, less, more, law)
    for y in range(len(belief)):
        mass += law[_NEEDED, y]
    return mass


@inlined
def _require(limits: Limits, less: float, more: float, law: Floats) -> None:
    """Write what U has to be at least, for the largest V and its mean."""
    for y in range(law.shape[1]):
        most, mean = law[_MOST, y], law[_MEAN, y]
        least = max(most - limits.growth * (mean * less), mean * more) / limits.gain
        law[_NEEDED, y] = least if law[SUPPORT, y] > 0.0 else 0.0


@inlined
def _share(
    belief: Floats, total: np.uint64, partial: int, top: int, law: Floats, words: Words
) -> tuple[float, float]:
    """Write I, F and P; what is believed of the symbols that share F, and of the partial one."""
    symbols, all_words = len(belief), float(total)
    others = partly = 0.0
    to_fill = to_partial = _NOTHING
    for y in range(symbols):
        own = law[OWN, y]
        words[KEPT, y] = total
        if y == partial:
            words[KEPT, y] = min(np.uint64(own * all_words), total)
            to_partial = total - words[KEPT, y]
            partly = belief[y]
            if own < 1.0:
                to_fill = total
        elif own < 1.0:
            words[KEPT, y] = _NOTHING
            others += belief[y]
            to_fill = total
    _cut(law, FILL, to_fill, top, words, FILLED)
    _cut(law, PARTIAL_FILL, to_partial, top, words, PARTLY)
    return others, partly


@inlined
def _cut(law: Floats, row: int, left: np.uint64, top: int, words: Words, into: int) -> None:
    """Write a row of a proposal in whole words, and as doubles in its own place."""
    available = float(left)
    if left == _NOTHING:
        for y in range(law.shape[1]):
            words[into, y], law[row, y] = _NOTHING, 0.0
        return
    for y in range(law.shape[1]):
        if y != top:
            part = np.floor(law[row, y] * available * PART_DOWN)
            cut = np.uint64(part)
            if cut > left:
                cut, part = left, float(left)
            words[into, y], law[row, y] = cut, part
            left -= cut
    words[into, top] = left
    law[row, top] = float(left)


@inlined
def _ratio(limits: Limits, less: float, more: float, law: Floats) -> float:
    """Return e to the power of the largest leakage of a release; mostly E, which is soon known."""
    worst = 1.0
    for y in range(law.shape[1]):
        if law[SUPPORT, y] > 0.0:
            released = law[_NEEDED, y]
            upper = (released * UP + law[_MOST, y]) / (released + law[_MEAN, y] * less)
            lower = (released * UP + law[_MEAN, y] * more) / released
            worst = max(worst, max(upper, lower))
            if RATIO_UP * worst >= limits.growth:
                return limits.growth
    return RATIO_UP * worst


@inlined
def draw(law: Law, symbol: int, word: np.uint64) -> int:
    """Release what the word says; both sums are always made, so that time does not tell."""
    if law.constant >= 0:
        return law.constant
    words, own = law.words, law.words[KEPT, symbol]
    row = PARTLY if symbol == law.partial else FILLED
    into, beyond = word - own, word - law.total
    moved = repaired = 0
    moved_sum = repair_sum = _NOTHING
    for y in range(words.shape[1]):
        moved_sum += words[row, y]
        repair_sum += words[REPAIR, y]
        moved += 1 if moved_sum <= into else 0
        repaired += 1 if repair_sum <= beyond else 0
    drawn = moved if word < law.total else repaired
    return symbol if word < own else drawn


@inlined
def words_of(law: Law, symbol: int, released: int) -> np.uint64:
    """Return W(y|x)."""
    weight: np.uint64 = law.words[REPAIR, released]
    if symbol == law.partial:
        weight += law.words[PARTLY, released]
    elif law.proposed[OWN, symbol] < 1.0:
        weight += law.words[FILLED, released]
    if symbol == released:
        weight += law.words[KEPT, symbol]
    return weight


@inlined
def correct(belief: Floats, law: Law, released: int, posterior: Floats) -> None:
    """Write the posterior after a release."""
    repair, total = law.words[REPAIR, released], 0.0
    stays, fills = float(repair), float(repair + law.words[FILLED, released])
    for x in range(len(belief)):
        likelihood = fills if law.proposed[OWN, x] < 1.0 else stays
        if x in (released, law.partial):
            likelihood = float(words_of(law, x, released))
        posterior[x] = belief[x] * (likelihood if law.constant < 0 else 1.0)
        total += posterior[x]
    for x in range(len(belief)):
        posterior[x] /= total
