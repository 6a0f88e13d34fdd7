"""The compiled step of adaptive release."""

from typing import NamedTuple

import numpy as np

from fugu.operators.byte_column import Bytes, bytes_of
from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import copied
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_charges import bit_length, charge_up_to, extended, spent_after
from fugu.operators.compiled_keyed_words import (
    HISTORY_BYTES,
    DrawColumns,
    draw_bound,
    put_bound,
)
from fugu.operators.mechanism import Floats, Integers, Kind, Releases, Run, State
from fugu.operators.randomness import KeyedDraws
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.compiled_integer_law import Law, Limits, correct, draw, limits_of, make
from fugu.operators.sip.compiled_markov_step import CompiledChain, predict
from fugu.operators.sip.compiled_repeat_decision import (
    answer_ratio,
    answered,
    expected_steps,
    is_near,
)
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
        purposes = (bytes_of(encode_fields(purpose)) for purpose in ("decision", "release"))
        chain = CompiledChain.of(model)
        return cls(
            chain,
            limits,
            doubts,
            *answer,
            counts_steps,
            *purposes,
            answers.ravel(),
            symbols.ravel(),
        )

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
