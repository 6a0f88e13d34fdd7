"""Adaptive release, position after position, for batches of any shape.

One call per batch, as for `crr`: the answer, what it says, the release where there is one, and all
that follows from them.
"""

from dataclasses import dataclass

import numpy as np

from operators.compiled import hamming_law as law_of
from operators.compiled.blake2b import Bytes
from operators.compiled.charges import charge, extended, spent_after
from operators.compiled.compiling import entry_point, part
from operators.compiled.crr import NO_LIMIT
from operators.compiled.hamming_law import Room
from operators.compiled.keyed_words import HISTORY_BYTES, DrawColumns, bound_word, bytes_of
from operators.compiled.markov_step import CompiledChain, is_distribution, predict
from operators.compiled.repeat_decision import (
    answer_leakage_ratio,
    answered,
    expected_steps,
    is_near,
)
from operators.fields import encode_fields
from operators.mechanism import Array, Floats, Integers, Kind, Releases, Run, State, Words
from operators.randomness import KeyedDraws


@dataclass(frozen=True)
class CompiledAdaptiveStep:
    """The constants of a configured mechanism.

    `favoured` of 2^64 words give the answer that is true, which is as `likely`. `answers` are the
    digests of no and yes, and `symbols` those of the symbols, joined. No position costs more than
    `largest_charge`.
    """

    chain: CompiledChain
    gain: float
    growth: float
    favoured: int
    likely: float
    unlikely: float
    counts_steps: bool
    decision_rounding: int
    release_rounding: int
    largest_charge: int
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
        state = {name: column.copy() for name, column in state.items()}
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
            np.zeros(streams, dtype=bool),
            rows,
            symbols,
            DrawColumns.of(draws.prefix.compiled, *keys_and_positions, *longest, HISTORY_BYTES),
            bytes_of(decision),
            bytes_of(release),
            bytes_of(self.answers),
            bytes_of(self.symbols),
            self.chain,
            self.gain,
            self.growth,
            np.uint64(self.favoured),
            self.likely,
            self.unlikely,
            self.counts_steps,
            self.decision_rounding,
            self.release_rounding,
            self.largest_charge,
            NO_LIMIT if total is None else total,
            np.empty((law_of.LAW_ROWS, symbols_there)),
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
def _propose(
    belief: Floats, gain: float, growth: float, law: Floats, room: Room
) -> tuple[int, bool]:
    """Compiled once: in three places it would take a minute."""
    return law_of.propose(belief, gain, growth, False, law, room)


@entry_point
def _run(
    beliefs: Floats,
    previous: Integers,
    all_spent: Integers,
    histories: Words,
    ended: Array,
    rows: Integers,
    symbols: Integers,
    draws: DrawColumns,
    decision: Bytes,
    release: Bytes,
    answer_digests: Bytes,
    symbol_digests: Bytes,
    chain: CompiledChain,
    gain: float,
    growth: float,
    favoured: np.uint64,
    likely: float,
    unlikely: float,
    counts_steps: bool,
    decision_rounding: int,
    release_rounding: int,
    largest_charge: int,
    total: int,
    law: Floats,
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
        if counts_steps:
            partial, _ = _propose(belief, gain, growth, law, room)
            within = expected_steps(belief, law, gain, partial, posterior)
        cost = charge(
            answer_leakage_ratio(belief, last, within, likely, unlikely), decision_rounding
        )
        if all_spent[row] + largest_charge > total:
            answered(belief, last, within, False, likely, unlikely, told)
            _, constant = _propose(told, gain, growth, law, room)
            at_most = cost + charge(law_of.leakage_ratio(law, gain, constant), release_rounding)
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
            partial, constant = _propose(told, gain, growth, law, room)
            word = bound_word(draws, position, release, symbol_digests, size, symbol, history)
            uniform = np.float64(word >> np.uint64(11)) * 2.0**-53
            drawn = law_of.sample(law, gain, partial, symbol, uniform, room)
            law_of.correct(told, law, gain, partial, drawn, posterior)
            cost += charge(law_of.leakage_ratio(law, gain, constant), release_rounding)
            event = drawn
        predict(posterior, chain, belief)
        previous[row] = drawn
        all_spent[row] = spent_after(all_spent[row], cost)
        histories[row] = extended(history, event + 1)
        released[position] = drawn
        confidence[position] = posterior[drawn]
        repeated[position] = repeats
        spent[position] = all_spent[row]
        paid[position] = True
    return -1
