"""Bounded conditional randomized response, position after position, for batches of any shape.

One call per batch: keyed word, proposal, repair, draw, posterior, prediction, charge and history of
each position, in the order of positions, so that how often a row occurs does not matter.
"""

from dataclasses import dataclass

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import copied
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_blake2b import Bytes
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import HISTORY_BYTES, DrawColumns, bound_word, bytes_of
from fugu.operators.mechanism import Array, Floats, Integers, Releases, Run, State, Words
from fugu.operators.randomness import KeyedDraws
from fugu.operators.sip import compiled_integer_law as law_of
from fugu.operators.sip.belief_radius import PREDICTIONS
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import WORD_ROWS, Limits
from fugu.operators.sip.compiled_markov_step import CompiledChain, is_distribution, predict

NO_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class CompiledStep:
    """The constants of a configured mechanism; `digests` are those of its symbols, joined."""

    chain: CompiledChain
    limits: Limits
    doubts: Floats
    digests: bytes

    def run(
        self,
        state: State,
        rows: Integers,
        symbols: Integers,
        draws: KeyedDraws,
        total: int | None,
    ) -> Run:
        """See `RunningMechanism`.

        Raises `ValueError` for a belief that is not a distribution.
        """
        state = copied(state)
        count, (streams, symbols_there) = len(rows), state["belief"].shape
        purpose, size = encode_fields("release"), len(self.digests) // symbols_there
        keys_and_positions, room = draws.joined, Room.of(symbols_there)
        released, spent = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        confidence, paid = np.zeros(count), np.zeros(count, dtype=bool)
        damaged = _run(
            state["belief"],
            state["releases"],
            state["spent"],
            state["history"],
            state.get(PREDICTIONS, np.zeros(streams, dtype=np.int64)),
            np.zeros(streams, dtype=bool),
            rows,
            symbols,
            DrawColumns.of(
                draws.prefix.compiled, *keys_and_positions, len(purpose), size, HISTORY_BYTES
            ),
            bytes_of(purpose),
            bytes_of(self.digests),
            self.chain,
            self.limits,
            self.doubts,
            NO_LIMIT if total is None else total,
            np.empty((LAW_ROWS, symbols_there)),
            np.empty((WORD_ROWS, symbols_there), dtype=np.uint64),
            np.empty(symbols_there),
            room,
            released,
            confidence,
            spent,
            paid,
        )
        if damaged >= 0:
            raise ValueError(f"the belief of row {damaged} is not a distribution")
        return Run(state, Releases(released, {"confidence": confidence}), {"spent": spent}, paid)


@entry_point
def _run(
    beliefs: Floats,
    releases: Integers,
    all_spent: Integers,
    histories: Words,
    predictions: Integers,
    ended: Array,
    rows: Integers,
    symbols: Integers,
    draws: DrawColumns,
    purpose: Bytes,
    digests: Bytes,
    chain: CompiledChain,
    limits: Limits,
    doubts: Floats,
    total: int,
    law: Floats,
    words: Words,
    posterior: Floats,
    room: Room,
    released: Integers,
    confidence: Floats,
    spent: Integers,
    paid: Array,
) -> int:
    """Advance all rows; -1, or the number of one whose belief is no distribution, and nothing is
    done."""
    for row in range(len(beliefs)):
        if not is_distribution(beliefs[row]):
            return row
    digest_bytes = len(digests) // beliefs.shape[1]
    for position in range(len(rows)):
        row, symbol = rows[position], symbols[position]
        spent[position] = all_spent[row]
        if ended[row]:
            continue
        belief, history = beliefs[row], histories[row]
        doubt = doubts[bit_length(predictions[row])]
        partial, kept, ratio, constant = law_of.make(belief, limits, doubt, law, words, room)
        cost = charge_up_to(ratio, limits.growth, limits.at_most)
        if all_spent[row] + cost > total:
            ended[row] = True
            continue
        word = bound_word(draws, position, purpose, digests, digest_bytes, symbol, history)
        drawn = law_of.draw(words, kept, partial, constant, symbol, word)
        law_of.correct(belief, law, words, partial, constant, drawn, posterior)
        predict(posterior, chain, belief)
        predictions[row] += 1
        releases[row] += 1
        all_spent[row] = spent_after(all_spent[row], cost)
        histories[row] = extended(history, drawn + 1)
        released[position] = drawn
        confidence[position] = posterior[drawn]
        spent[position] = all_spent[row]
        paid[position] = True
    return -1
