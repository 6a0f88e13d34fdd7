"""Adaptive release, position after position, for batches of any shape.

One call per batch, as for `crr`: the answer, what it says, the release where there is one, and all
that follows from them.
"""

from dataclasses import dataclass

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import copied
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b import Bytes
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import HISTORY_BYTES, DrawColumns, bound_word, bytes_of
from fugu.operators.mechanism import Array, Floats, Integers, Kind, Releases, Run, State, Words
from fugu.operators.randomness import KeyedDraws
from fugu.operators.sip import compiled_integer_law as law_of
from fugu.operators.sip.belief_radius import PREDICTIONS
from fugu.operators.sip.compiled_conditional_randomized_response import NO_LIMIT
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import WORD_ROWS, Limits
from fugu.operators.sip.compiled_markov_step import CompiledChain, is_distribution, predict
from fugu.operators.sip.compiled_repeat_decision import (
    answer_ratio,
    answered,
    expected_steps,
    is_near,
)


@dataclass(frozen=True)
class CompiledAdaptiveStep:
    """The constants of a configured mechanism.

    `favoured` of 2^64 words give the answer that is true, which is as `likely`. `answers` are the
    digests of no and yes, and `symbols` those of the symbols, joined. No answer costs more than
    `decision_charge`.
    """

    chain: CompiledChain
    limits: Limits
    doubts: Floats
    favoured: int
    likely: float
    unlikely: float
    decision_charge: int
    counts_steps: bool
    answers: bytes
    symbols: bytes

    def run(
        self,
        state: State,
        rows: Integers,
        symbols: Integers,
        draws: KeyedDraws,
        total: int | None,
    ) -> Run:
        """See `RunningMechanism`.

        Raises `ValueError` for a belief that is not a distribution, or a last release that is no
        symbol.
        """
        streams, symbols_there = state["belief"].shape
        if not np.isin(state["previous"], np.arange(symbols_there)).all():
            raise ValueError("a last release is no symbol")
        state = copied(state)
        decision, release = encode_fields("decision"), encode_fields("release")
        longest = max(len(decision), len(release)), len(self.symbols) // symbols_there
        keys_and_positions, room = draws.joined, Room.of(symbols_there)
        count = len(rows)
        released, spent = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        repeated, paid = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        confidence = np.zeros(count)
        damaged = _run(
            state["belief"],
            state["previous"],
            state["spent"],
            state["history"],
            state.get(PREDICTIONS, np.zeros(streams, dtype=np.int64)),
            np.zeros(streams, dtype=bool),
            rows,
            symbols,
            DrawColumns.of(draws.prefix.compiled, *keys_and_positions, *longest, HISTORY_BYTES),
            bytes_of(decision),
            bytes_of(release),
            bytes_of(self.answers),
            bytes_of(self.symbols),
            self.chain,
            self.limits,
            self.doubts,
            np.uint64(self.favoured),
            self.likely,
            self.unlikely,
            self.decision_charge,
            self.counts_steps,
            NO_LIMIT if total is None else total,
            np.empty((LAW_ROWS, symbols_there)),
            np.empty((WORD_ROWS, symbols_there), dtype=np.uint64),
            np.empty(symbols_there),
            np.empty(symbols_there),
            room,
            released,
            confidence,
            repeated,
            spent,
            paid,
        )
        if damaged >= 0:
            raise ValueError(f"the belief of row {damaged} is not a distribution")
        kinds = np.where(repeated, Kind.REPEATED, Kind.FRESH)
        releases = Releases(released, {"confidence": confidence}, kinds)
        return Run(state, releases, {"spent": spent}, paid)


@part
def _make(
    belief: Floats, limits: Limits, doubt: float, law: Floats, words: Words, room: Room
) -> tuple[int, np.uint64, float, int]:
    """Compiled once: in three places it would take a minute."""
    return law_of.make(belief, limits, doubt, law, words, room)


@entry_point
def _run(
    beliefs: Floats,
    previous: Integers,
    all_spent: Integers,
    histories: Words,
    predictions: Integers,
    ended: Array,
    rows: Integers,
    symbols: Integers,
    draws: DrawColumns,
    decision: Bytes,
    release: Bytes,
    answer_digests: Bytes,
    symbol_digests: Bytes,
    chain: CompiledChain,
    limits: Limits,
    doubts: Floats,
    favoured: np.uint64,
    likely: float,
    unlikely: float,
    decision_charge: int,
    counts_steps: bool,
    total: int,
    law: Floats,
    words: Words,
    told: Floats,
    posterior: Floats,
    room: Room,
    released: Integers,
    confidence: Floats,
    repeated: Array,
    spent: Integers,
    paid: Array,
) -> int:
    """Advance all rows; -1, or the number of one whose belief is no distribution, and nothing is
    done."""
    n = beliefs.shape[1]
    for row in range(len(beliefs)):
        if not is_distribution(beliefs[row]):
            return row
    size = len(symbol_digests) // n
    for position in range(len(rows)):
        row, symbol = rows[position], symbols[position]
        spent[position] = all_spent[row]
        if ended[row]:
            continue
        belief, history, last, within = beliefs[row], histories[row], previous[row], 0.0
        doubt = doubts[bit_length(predictions[row])]
        if counts_steps:
            partial, kept, ratio, constant = _make(belief, limits, doubt, law, words, room)
            within = expected_steps(belief, law, words, partial, constant)
        ratio = answer_ratio(belief, last, within, likely, unlikely, doubt)
        cost = charge_up_to(ratio, np.inf, decision_charge)
        if all_spent[row] + decision_charge + limits.at_most > total:
            answered(belief, last, within, False, likely, unlikely, told)
            partial, kept, ratio, constant = _make(told, limits, doubt, law, words, room)
            at_most = cost + charge_up_to(ratio, limits.growth, limits.at_most)
            if all_spent[row] + at_most > total:
                ended[row] = True
                continue
        good_enough = is_near(symbol, last, within)
        item = 1 if good_enough else 0
        word = bound_word(draws, position, decision, answer_digests, size, item, history)
        repeats = (word < favoured) == good_enough
        answered(belief, last, within, repeats, likely, unlikely, told)
        if repeats:
            drawn, event = last, n
            for share in range(n):
                posterior[share] = told[share]
        else:
            partial, kept, ratio, constant = _make(told, limits, doubt, law, words, room)
            word = bound_word(draws, position, release, symbol_digests, size, symbol, history)
            drawn = law_of.draw(words, kept, partial, constant, symbol, word)
            law_of.correct(told, law, words, partial, constant, drawn, posterior)
            cost += charge_up_to(ratio, limits.growth, limits.at_most)
            event = drawn
        predict(posterior, chain, belief)
        predictions[row] += 1
        previous[row] = drawn
        all_spent[row] = spent_after(all_spent[row], cost)
        histories[row] = extended(history, event + 1)
        released[position] = drawn
        confidence[position] = posterior[drawn]
        repeated[position] = repeats
        spent[position] = all_spent[row]
        paid[position] = True
    return -1
