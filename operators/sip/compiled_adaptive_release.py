"""Compile the step of adaptive release: decide whether to repeat, or release anew."""

from typing import NamedTuple

import numpy as np

from fugu.operators.columns import Bytes, bytes_of, copied, encode_fields
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import HISTORY_BYTES, DrawColumns, draw_bound, put_bound
from fugu.operators.mechanism import Floats, Integers, Kind, Releases, Run, State
from fugu.operators.randomness import KeyedDraws
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.compiled_integer_law import (
    CompiledChain,
    Law,
    Limits,
    correct,
    draw,
    limits_of,
    make,
    predict,
    words_of,
)
from fugu.operators.sip.compiled_steps import (
    Positions,
    Space,
    Streams,
    first_damaged,
    limit_of,
    require_sound,
    together,
)
from fugu.operators.sip.integer_law import RATIO_UP
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.privacy_bound import WORDS, PrivacyBound

# Good enough for a truth is what is at most `within` steps away from it. `likely` is the
# probability of an answer that is true, and `unlikely` that of one that is not.


@inlined
def is_near(symbol: int, last: int, within: float) -> bool:
    """Return whether the last release is good enough for a symbol."""
    return bool(abs(symbol - last) <= within)


@part
def answered(
    belief: Floats,
    last: int,
    within: float,
    repeats: bool,
    likely: float,
    unlikely: float,
    posterior: Floats,
) -> None:
    """Write the belief after the answer."""
    total = 0.0
    for x in range(len(belief)):
        agrees = is_near(x, last, within) == repeats
        posterior[x] = belief[x] * (likely if agrees else unlikely)
        total = posterior[x] if x == 0 else total + posterior[x]
    for x in range(len(belief)):
        posterior[x] /= total


@part
def answer_ratio(
    belief: Floats, last: int, within: float, likely: float, unlikely: float, doubt: float
) -> float:
    """Return e to the largest leakage of the answer, for every exact belief in doubt."""
    symbols, good_enough = len(belief), 0
    for x in range(symbols):
        if is_near(x, last, within):
            good_enough += 1
    worst = 1.0
    if good_enough == symbols:
        return worst
    if not doubt < np.inf:
        return np.inf
    for answer in (True, False):
        released, largest, smallest = 0.0, unlikely, likely
        for x in range(symbols):
            chance = likely if is_near(x, last, within) == answer else unlikely
            share = belief[x] * chance
            released = share if x == 0 else released + share
            largest, smallest = max(largest, chance), min(smallest, chance)
        upper = largest / (released * (1.0 - doubt))
        worst = max(worst, max(upper, released * (1.0 + doubt) / smallest))
    return worst * RATIO_UP


@part
def expected_steps(belief: Floats, law: Law) -> float:
    """Return E|x - y| of a release by the law."""
    symbols, expected = len(belief), 0.0
    for x in range(symbols):
        apart = 0.0
        if law.constant >= 0:
            apart = float(abs(law.constant - x))
        else:
            for y in range(symbols):
                weight = float(words_of(law, x, y)) / WORDS
                apart += weight * abs(y - x)
        expected += belief[x] * apart
    return expected


class CompiledAdaptiveStep(NamedTuple):
    """Decide and release position after position, in one call for a batch of any shape.

    `favoured` of 2^64 words give the answer that is true, which is as `likely`. No answer costs
    more than `decision_charge`. `decision` and `release` are encoded fields, `answers` are the
    digests of no and yes, and `symbols` those of the symbols, joined.
    """

    chain: CompiledChain
    limits: Limits
    doubts: Floats
    favoured: np.uint64
    likely: float
    unlikely: float
    decision_charge: int
    counts_steps: bool
    decision: Bytes
    release: Bytes
    answers: Bytes
    symbols: Bytes

    @classmethod
    def of(
        cls,
        model: Chain,
        odds: Odds,
        bound: PrivacyBound,
        doubts: Floats,
        counts_steps: bool,
        answers: Bytes,
        symbols: Bytes,
    ) -> "CompiledAdaptiveStep":
        """Make the constants of a configured mechanism."""
        limits = limits_of(bound, model.symbols, full_support=False)
        answer = np.uint64(odds.favoured), odds.likely, odds.unlikely, odds.charge
        decision, release = (
            bytes_of(encode_fields(purpose)) for purpose in ("decision", "release")
        )
        digests = answers.ravel(), symbols.ravel()
        chain = CompiledChain.of(model)
        return cls(chain, limits, doubts, *answer, counts_steps, decision, release, *digests)

    def run(
        self, state: State, rows: Integers, symbols: Integers, draws: KeyedDraws, total: int | None
    ) -> Run:
        """Run as `RunningMechanism` says.

        Raises `ValueError` for a belief that is no distribution, or a last release that is no
        symbol.
        """
        n = state["belief"].shape[1]
        if not np.isin(state["previous"], np.arange(n)).all():
            raise ValueError("a last release is no symbol")
        state, limit = copied(state), limit_of(total)
        streams, positions = Streams.of(state, limit), Positions.of(rows, symbols)
        purpose = max(len(self.decision), len(self.release))
        longest = purpose, len(self.symbols) // n, HISTORY_BYTES
        columns = DrawColumns.of(draws.prefix.compiled, *draws.columns, *longest)
        require_sound(
            _run(self, streams, state["previous"], positions, columns, limit, Space.of(n))
        )
        kinds = np.where(positions.repeated, Kind.REPEATED, Kind.FRESH)
        releases = Releases(positions.released, {"confidence": positions.confidence}, kinds)
        return Run(state, releases, {"spent": positions.spent}, positions.paid)


@part
def _make(belief: Floats, limits: Limits, doubt: float, space: Space) -> tuple[Law, float]:
    """Make a law. It is compiled once: in three places it would take a minute."""
    return make(belief, limits, doubt, space.law, space.words, space.room)


@part
def _draw(
    step: CompiledAdaptiveStep,
    streams: Streams,
    previous: Integers,
    positions: Positions,
    draws: DrawColumns,
    space: Space,
    first: int,
    count: int,
) -> None:
    """Draw the words of some positions, of different rows: for a decision, and for a release."""
    size = len(step.symbols) // streams.beliefs.shape[1]
    for lane in range(count):
        position = first + lane
        row, symbol = positions.rows[position], positions.symbols[position]
        if step.counts_steps:
            belief, doubt = streams.beliefs[row], step.doubts[bit_length(streams.predictions[row])]
            law, _ = _make(belief, step.limits, doubt, space)
            space.within[lane] = expected_steps(belief, law)
        item = 1 if is_near(symbol, previous[row], space.within[lane]) else 0
        bound = step.answers, size, item, streams.histories[row]
        put_bound(draws, lane, position, step.decision, *bound)
    draw_bound(draws, count, space.decisions)
    for lane in range(count):
        position = first + lane
        row, symbol = positions.rows[position], positions.symbols[position]
        bound = step.symbols, size, symbol, streams.histories[row]
        put_bound(draws, lane, position, step.release, *bound)
    draw_bound(draws, count, space.releases)


@entry_point
def _run(
    step: CompiledAdaptiveStep,
    streams: Streams,
    previous: Integers,
    positions: Positions,
    draws: DrawColumns,
    total: int,
    space: Space,
) -> int:
    """Advance all rows; if the belief of one is damaged, return its number and do nothing."""
    damaged = first_damaged(streams.beliefs)
    if damaged >= 0:
        return damaged
    limits, likely, unlikely = step.limits, step.likely, step.unlikely
    told, posterior, n = space.told, space.posterior, streams.beliefs.shape[1]
    first, count = 0, 0
    for position in range(len(positions.rows)):
        row, symbol = positions.rows[position], positions.symbols[position]
        if position == first + count:
            first, count = position, together(positions.rows, position)
            _draw(step, streams, previous, positions, draws, space, first, count)
        spent = streams.spent[row]
        positions.spent[position] = spent
        if streams.ended[row]:
            continue
        belief, history, last = streams.beliefs[row], streams.histories[row], previous[row]
        doubt = step.doubts[bit_length(streams.predictions[row])]
        within = space.within[position - first]
        ratio = answer_ratio(belief, last, within, likely, unlikely, doubt)
        cost = charge_up_to(ratio, np.inf, step.decision_charge)
        if spent + step.decision_charge + limits.at_most > total:
            answered(belief, last, within, False, likely, unlikely, told)
            law, ratio = _make(told, limits, doubt, space)
            if spent + cost + charge_up_to(ratio, limits.growth, limits.at_most) > total:
                streams.ended[row] = True
                continue
        good_enough = is_near(symbol, last, within)
        repeats = (space.decisions[position - first] < step.favoured) == good_enough
        answered(belief, last, within, repeats, likely, unlikely, told)
        if repeats:
            drawn, event = last, n
            for share in range(n):
                posterior[share] = told[share]
        else:
            law, ratio = _make(told, limits, doubt, space)
            drawn = draw(law, symbol, space.releases[position - first])
            correct(told, law, drawn, posterior)
            cost += charge_up_to(ratio, limits.growth, limits.at_most)
            event = drawn
        predict(posterior, step.chain, belief)
        streams.predictions[row] += 1
        previous[row] = drawn
        streams.spent[row] = spent_after(spent, cost)
        streams.histories[row] = extended(history, event + 1)
        positions.released[position] = drawn
        positions.confidence[position] = posterior[drawn]
        positions.repeated[position] = repeats
        positions.spent[position] = streams.spent[row]
        positions.paid[position] = True
    return -1
