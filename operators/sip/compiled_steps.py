"""Compile the steps of conditional randomized response, with a model and from a cold start."""

from typing import NamedTuple

import numpy as np

from fugu.operators.columns import Bytes, bytes_of, copied, encode_fields
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.compiled_blake2b import LANES
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import HISTORY_BYTES, DrawColumns, draw_bound, put_bound
from fugu.operators.mechanism import Array, Floats, Integers, Releases, Run, State, Words
from fugu.operators.randomness import KeyedDraws
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import (
    WORD_ROWS,
    CompiledChain,
    Limits,
    correct,
    draw,
    is_distribution,
    limits_of,
    make,
    predict,
    predict_dense,
)
from fugu.operators.sip.inputs import checked_belief
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.privacy_bound import PREDICTIONS, PrivacyBound

_NO_LIMIT = 2**63 - 1


class Streams(NamedTuple):
    """Hold the columns of a state that a run writes to, one row for each stream."""

    beliefs: Floats
    spent: Integers
    histories: Words
    predictions: Integers
    ended: Array

    @classmethod
    def of(cls, state: State, limit: int) -> "Streams":
        """Share the columns of a state; streams that spent more than `limit` have ended."""
        predictions = state.get(PREDICTIONS, np.zeros(len(state["spent"]), dtype=np.int64))
        ended = np.asarray(state["spent"] > limit)
        return cls(state["belief"], state["spent"], state["history"], predictions, ended)


class Positions(NamedTuple):
    """Hold the row and the symbol of each position, and room for what becomes of it."""

    rows: Integers
    symbols: Integers
    released: Integers
    confidence: Floats
    repeated: Array
    spent: Integers
    paid: Array

    @classmethod
    def of(cls, rows: Integers, symbols: Integers) -> "Positions":
        """Make room for as many positions."""
        count = len(rows)
        released, spent = np.zeros((2, count), dtype=np.int64)
        repeated, paid = np.zeros((2, count), dtype=bool)
        return cls(rows, symbols, released, np.zeros(count), repeated, spent, paid)


class Space(NamedTuple):
    """Hold room for the law at one position, and for what follows from it.

    What is decided with, and words, are those of as many positions as are drawn together.
    """

    law: Floats
    words: Words
    told: Floats
    posterior: Floats
    within: Floats
    decisions: Words
    releases: Words
    room: Room

    @classmethod
    def of(cls, symbols: int) -> "Space":
        """Make room for so many symbols."""
        words = np.empty((WORD_ROWS, symbols), dtype=np.uint64)
        told, posterior = np.empty((2, symbols))
        law, drawn = np.empty((LAW_ROWS, symbols)), np.empty((2, LANES), dtype=np.uint64)
        within, (decisions, releases) = np.zeros(LANES), drawn
        room = Room.of(symbols)
        return cls(law, words, told, posterior, within, decisions, releases, room)


def limit_of(total: int | None) -> int:
    """Return the units that may be spent, as compiled code takes them."""
    return _NO_LIMIT if total is None else total


def require_sound(damaged: int) -> None:
    """Raise `ValueError` for the row that `first_damaged` found."""
    if damaged >= 0:
        raise ValueError(f"the belief of row {damaged} is not a distribution")


@inlined
def first_damaged(beliefs: Floats) -> int:
    """Return the first row whose belief is not a distribution, or -1."""
    for row in range(len(beliefs)):
        if not is_distribution(beliefs[row]):
            return row
    return -1


@part
def together(rows: Integers, position: int) -> int:
    """Return how many positions, from this one on, are drawn together: none of a row twice.

    What a draw is bound to depends on what its row released before.
    """
    most = min(LANES, len(rows) - position)
    for number in range(1, most):
        for earlier in range(number):
            if rows[position + earlier] == rows[position + number]:
                return number
    return most


class CompiledStep(NamedTuple):
    """Release position after position, in one call for a batch of any shape.

    One call makes keyed word, proposal, repair, draw, posterior, prediction, charge and history of
    each position, in the order of positions, so that how often a row occurs does not matter.
    `purpose` is an encoded field, and `digests` are those of the symbols, joined.
    """

    chain: CompiledChain
    limits: Limits
    doubts: Floats
    purpose: Bytes
    digests: Bytes

    @classmethod
    def of(
        cls,
        model: Chain,
        bound: PrivacyBound,
        doubts: Floats,
        full_support: bool,
        digests: Bytes,
    ) -> "CompiledStep":
        """Make the constants of a configured mechanism."""
        limits = limits_of(bound, model.symbols, full_support)
        columns = bytes_of(encode_fields("release")), digests.ravel()
        return cls(CompiledChain.of(model), limits, doubts, *columns)

    def run(
        self, state: State, rows: Integers, symbols: Integers, draws: KeyedDraws, total: int | None
    ) -> Run:
        """Run as `RunningMechanism` says; `ValueError` for a belief that is no distribution."""
        state, n = copied(state), state["belief"].shape[1]
        streams, positions = Streams.of(state, limit_of(total)), Positions.of(rows, symbols)
        longest = len(self.purpose), len(self.digests) // n, HISTORY_BYTES
        columns = DrawColumns.of(draws.prefix.compiled, *draws.columns, *longest)
        limit = limit_of(total)
        require_sound(
            _run_model(self, streams, state["releases"], positions, columns, limit, Space.of(n))
        )
        releases = Releases(positions.released, {"confidence": positions.confidence})
        return Run(state, releases, {"spent": positions.spent}, positions.paid)


@entry_point
def _run_model(
    step: CompiledStep,
    streams: Streams,
    releases: Integers,
    positions: Positions,
    draws: DrawColumns,
    total: int,
    space: Space,
) -> int:
    """Advance all rows; if the belief of one is damaged, return its number and do nothing."""
    damaged = first_damaged(streams.beliefs)
    if damaged >= 0:
        return damaged
    limits, posterior, words = step.limits, space.posterior, space.releases
    digest_bytes = len(step.digests) // streams.beliefs.shape[1]
    first, count = 0, 0
    for position in range(len(positions.rows)):
        row, symbol = positions.rows[position], positions.symbols[position]
        if position == first + count:
            first, count = position, together(positions.rows, position)
            for lane in range(count):
                there = first + lane
                item, history = positions.symbols[there], streams.histories[positions.rows[there]]
                bound = step.digests, digest_bytes, item, history
                put_bound(draws, lane, there, step.purpose, *bound)
            draw_bound(draws, count, words)
        positions.spent[position] = streams.spent[row]
        if streams.ended[row]:
            continue
        belief, history = streams.beliefs[row], streams.histories[row]
        doubt = step.doubts[bit_length(streams.predictions[row])]
        law, ratio = make(belief, limits, doubt, space.law, space.words, space.room)
        cost = charge_up_to(ratio, limits.growth, limits.at_most)
        if streams.spent[row] + cost > total:
            streams.ended[row] = True
            continue
        drawn = draw(law, symbol, words[position - first])
        correct(belief, law, drawn, posterior)
        predict(posterior, step.chain, belief)
        streams.predictions[row] += 1
        releases[row] += 1
        streams.spent[row] = spent_after(streams.spent[row], cost)
        streams.histories[row] = extended(history, drawn + 1)
        positions.released[position] = drawn
        positions.confidence[position] = posterior[drawn]
        positions.spent[position] = streams.spent[row]
        positions.paid[position] = True
    return -1


class Chains(NamedTuple):
    """Hold the columns of streams that learn: how far they are, their responses, and chains."""

    begun: Integers
    responses: Array
    transitions: Floats


class CompiledColdStep(NamedTuple):
    """Release position after position of streams that do not learn their chain on the way.

    A stream has a chain after `positions` responses. `favoured` of 2^64 words give the truth, and
    `each` of the others one other symbol, at a `response_charge`.
    """

    limits: Limits
    doubts: Floats
    positions: int
    favoured: np.uint64
    each: np.uint64
    response_charge: int
    purpose: Bytes
    digests: Bytes

    @classmethod
    def of(
        cls, bound: PrivacyBound, doubts: Floats, positions: int, odds: Odds, digests: Bytes
    ) -> "CompiledColdStep":
        """Make the constants of a configured mechanism."""
        limits = limits_of(bound, len(digests), full_support=False)
        response = np.uint64(odds.favoured), np.uint64(odds.each), odds.charge
        purpose = bytes_of(encode_fields("release"))
        return cls(limits, doubts, positions, *response, purpose, digests.ravel())

    def run(
        self, state: State, rows: Integers, symbols: Integers, draws: KeyedDraws, total: int | None
    ) -> Run:
        """Run as `RunningMechanism` says; `ValueError` for a belief that is no distribution."""
        checked_belief(state["belief"][state["begun"] == self.positions])
        state, n, limit = copied(state), state["belief"].shape[1], limit_of(total)
        streams, positions = Streams.of(state, limit), Positions.of(rows, symbols)
        chains = Chains(state["begun"], state["responses"], state["transition"])
        longest = len(self.purpose), len(self.digests) // n, HISTORY_BYTES
        columns = DrawColumns.of(draws.prefix.compiled, *draws.columns, *longest)
        _run_cold(self, streams, chains, positions, columns, limit, Space.of(n))
        releases = Releases(positions.released, {"confidence": positions.confidence})
        return Run(state, releases, {"spent": positions.spent}, positions.paid)


@inlined
def _answer(step: CompiledColdStep, truth: int, word: np.uint64) -> int:
    """Answer like `Odds.answer`."""
    kept = word < step.favoured
    beyond = np.uint64(0) if kept else word - step.favoured
    other = int(beyond // step.each)
    other += 1 if other >= truth else 0
    return truth if kept else other


@entry_point
def _run_cold(
    step: CompiledColdStep,
    streams: Streams,
    chains: Chains,
    positions: Positions,
    draws: DrawColumns,
    total: int,
    space: Space,
) -> None:
    limits, posterior, words = step.limits, space.posterior, space.releases
    digest_bytes = len(step.digests) // streams.beliefs.shape[1]
    first, count = 0, 0
    for position in range(len(positions.rows)):
        row, symbol = positions.rows[position], positions.symbols[position]
        if position == first + count:
            first, count = position, together(positions.rows, position)
            for lane in range(count):
                there = first + lane
                item, history = positions.symbols[there], streams.histories[positions.rows[there]]
                bound = step.digests, digest_bytes, item, history
                put_bound(draws, lane, there, step.purpose, *bound)
            draw_bound(draws, count, words)
        positions.spent[position] = streams.spent[row]
        if streams.ended[row]:
            continue
        belief, history, word = (
            streams.beliefs[row],
            streams.histories[row],
            words[position - first],
        )
        if chains.begun[row] == step.positions:
            doubt = step.doubts[bit_length(streams.predictions[row])]
            law, ratio = make(belief, limits, doubt, space.law, space.words, space.room)
            cost = charge_up_to(ratio, limits.growth, limits.at_most)
            if streams.spent[row] + cost > total:
                streams.ended[row] = True
                continue
            drawn = draw(law, symbol, word)
            correct(belief, law, drawn, posterior)
            predict_dense(posterior, chains.transitions[row], belief)
            confidence = posterior[drawn]
        else:
            cost = step.response_charge
            if streams.spent[row] + cost > total:
                streams.ended[row] = True
                continue
            drawn = _answer(step, symbol, word)
            chains.responses[row, chains.begun[row]] = drawn
            chains.begun[row] += 1
            confidence = np.nan
        streams.predictions[row] += 1
        streams.spent[row] = spent_after(streams.spent[row], cost)
        streams.histories[row] = extended(history, drawn + 1)
        positions.released[position] = drawn
        positions.confidence[position] = confidence
        positions.spent[position] = streams.spent[row]
        positions.paid[position] = True
