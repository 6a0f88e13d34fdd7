"""The compiled step of bounded conditional randomized response."""

from typing import NamedTuple

from fugu.operators.byte_column import Bytes, bytes_of
from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import copied
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import (
    HISTORY_BYTES,
    DrawColumns,
    draw_bound,
    put_bound,
)
from fugu.operators.mechanism import Floats, Integers, Releases, Run, State
from fugu.operators.randomness import KeyedDraws
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.compiled_integer_law import Limits, correct, draw, limits_of, make
from fugu.operators.sip.compiled_markov_step import CompiledChain, predict
from fugu.operators.sip.compiled_run import (
    Positions,
    Space,
    Streams,
    first_damaged,
    limit_of,
    require_sound,
    together,
)
from fugu.operators.sip.privacy_bound import PrivacyBound


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
            _run(self, streams, state["releases"], positions, columns, limit, Space.of(n))
        )
        releases = Releases(positions.released, {"confidence": positions.confidence})
        return Run(state, releases, {"spent": positions.spent}, positions.paid)


@entry_point
def _run(
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
