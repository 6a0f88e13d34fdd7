"""The compiled step of a cold start: randomized response, or the law under a stream's own chain."""

from typing import NamedTuple

import numpy as np

from fugu.operators.byte_column import Bytes, bytes_of
from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import copied
from fugu.operators.compiled.compiling import entry_point, inlined
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import (
    HISTORY_BYTES,
    DrawColumns,
    draw_bound,
    put_bound,
)
from fugu.operators.mechanism import Array, Floats, Integers, Releases, Run, State
from fugu.operators.randomness import KeyedDraws
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.compiled_integer_law import Limits, correct, draw, limits_of, make
from fugu.operators.sip.compiled_markov_step import predict_dense
from fugu.operators.sip.compiled_run import Positions, Space, Streams, limit_of, together
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.symbol_inputs import checked_belief


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
        _run(self, streams, chains, positions, columns, limit, Space.of(n))
        releases = Releases(positions.released, {"confidence": positions.confidence})
        return Run(state, releases, {"spent": positions.spent}, positions.paid)


@inlined
def _answer(step: CompiledColdStep, truth: int, word: np.uint64) -> int:
    """Answer like `Odds.answer`."""
    kept = word < step.favoured
    beyond = np.uint64(0) if kept else word - step.favoured
    other = np.int64(beyond // step.each)
    other += 1 if other >= truth else 0
    return truth if kept else other


@entry_point
def _run(
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
