"""Bounded conditional randomized response, position after position, for batches of any shape.

One call per batch: keyed word, proposal, repair, draw, posterior, prediction, charge and history of
each position, in the order of positions, so that how often a row occurs does not matter.
"""

from dataclasses import dataclass

import numpy as np

from operators.compiled import hamming_law as law_of
from operators.compiled.blake2b import DIGEST_WORDS, Bytes
from operators.compiled.charges import charge, extended, spent_after
from operators.compiled.compiling import entry_point
from operators.compiled.keyed_words import (
    HISTORY_BYTES,
    bound_word,
    put_bytes,
    scratch,
)
from operators.compiled.markov_step import is_distribution, predict_dense, predict_sparse
from operators.mechanism import Array, Floats, Integers, Releases, Run, State, Words
from operators.randomness import KeyedDraws, encode_fields

NO_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class CompiledChain:
    """A first-order chain: a transition matrix, or sparse rows (and an empty matrix)."""

    transition: Floats
    sources: Integers
    columns: Integers
    kept: Floats
    restart: Floats

    @classmethod
    def dense(cls, transition: Floats) -> "CompiledChain":
        """A transition matrix."""
        nowhere, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(_constant(transition), nowhere, nowhere, nothing, nothing)

    @classmethod
    def sparse(
        cls, sources: Integers, columns: Integers, kept: Floats, restart: Floats
    ) -> "CompiledChain":
        """Sparse rows."""
        rows = (_constant(column) for column in (sources, columns, kept, restart))
        return cls(np.zeros((0, 0)), *rows)


@dataclass(frozen=True)
class CompiledStep:
    """The constants of a configured mechanism; `digests` are those of its symbols, joined."""

    chain: CompiledChain
    gain: float
    growth: float
    full_support: bool
    rounding: int
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
        state = {name: column.copy() for name, column in state.items()}
        prefix, (keys, positions) = draws.prefix.compiled, draws.joined
        purpose = encode_fields("release")
        size = len(self.digests) // state["belief"].shape[1]
        count = len(rows)
        released, spent = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        confidence, paid = np.zeros(count), np.zeros(count, dtype=bool)
        damaged = _run(
            state["belief"],
            state["releases"],
            state["spent"],
            state["history"],
            np.zeros(len(state["spent"]), dtype=bool),
            rows,
            symbols,
            prefix.state,
            prefix.before,
            prefix.rest,
            keys.content,
            keys.ends,
            positions.content,
            positions.ends,
            np.frombuffer(purpose, dtype=np.uint8),
            np.frombuffer(self.digests, dtype=np.uint8),
            scratch(prefix, keys.longest, positions.longest, len(purpose), size, HISTORY_BYTES),
            self.chain.transition,
            self.chain.sources,
            self.chain.columns,
            self.chain.kept,
            self.chain.restart,
            self.gain,
            self.growth,
            self.full_support,
            self.rounding,
            NO_LIMIT if total is None else total,
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
    ended: Array,
    rows: Integers,
    symbols: Integers,
    absorbed: Words,
    before: int,
    rest: Bytes,
    keys: Bytes,
    key_ends: Integers,
    positions: Bytes,
    position_ends: Integers,
    purpose: Bytes,
    digests: Bytes,
    message: Words,
    transition: Floats,
    sources: Integers,
    columns: Integers,
    kept: Floats,
    restart: Floats,
    gain: float,
    growth: float,
    full_support: bool,
    rounding: int,
    total: int,
    released: Integers,
    confidence: Floats,
    spent: Integers,
    paid: Array,
) -> int:
    """Advance all rows; -1, or the number of one whose belief is no distribution, and nothing is
    done."""
    n = beliefs.shape[1]
    for row in range(len(beliefs)):
        if not is_distribution(beliefs[row]):
            return row
    digest_bytes = len(digests) // n
    word = np.empty(DIGEST_WORDS, dtype=np.uint64)
    law = np.empty((law_of.LAW_ROWS, n))
    room = np.empty((law_of.SCRATCH_ROWS, n))
    order, rank = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    posterior = np.empty(n)
    put_bytes(message.view(np.uint8), 0, rest, 0, len(rest))
    for position in range(len(rows)):
        row, symbol = rows[position], symbols[position]
        spent[position] = all_spent[row]
        if ended[row]:
            continue
        belief = beliefs[row]
        partial, constant = law_of.propose(
            belief, gain, growth, full_support, law, room, order, rank
        )
        cost = charge(law_of.leakage_ratio(law, gain, constant), rounding)
        if all_spent[row] + cost > total:
            ended[row] = True
            continue
        drawn_word = bound_word(
            message,
            word,
            absorbed,
            before,
            rest,
            keys,
            key_ends,
            positions,
            position_ends,
            position,
            purpose,
            digests,
            digest_bytes,
            symbol,
            histories[row],
        )
        uniform = np.float64(drawn_word >> np.uint64(11)) * 2.0**-53
        drawn = law_of.sample(law, gain, partial, symbol, uniform, room)
        law_of.correct(belief, law, gain, partial, drawn, posterior)
        if len(transition):
            predict_dense(posterior, transition, belief)
        else:
            predict_sparse(posterior, sources, columns, kept, restart, belief)
        releases[row] += 1
        all_spent[row] = spent_after(all_spent[row], cost)
        histories[row] = extended(histories[row], drawn + 1)
        released[position] = drawn
        confidence[position] = posterior[drawn]
        spent[position] = all_spent[row]
        paid[position] = True
    return -1


def _constant(column: Array) -> Array:
    """A copy that can be written to, as all other columns: one type, one compiled function."""
    return np.array(column, order="C")
