"""Compile the step of reports under a budget of windows."""

from typing import NamedTuple

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.columns import Bytes, bytes_of, copied, encode_fields
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b import DIGEST_WORDS, LANES
from fugu.operators.compiled_charges import extended
from fugu.operators.compiled_keyed_words import (
    HISTORY_BYTES,
    DrawColumns,
    draw_blocks,
    draw_bound,
    put_block,
    put_bound,
)
from fugu.operators.mechanism import Array, Floats, Integers, Kind, Releases, Run, State, Words
from fugu.operators.randomness import KeyedDraws
from fugu.operators.sip.compiled_steps import together
from fugu.operators.wevent_local.compiled_rules import CompiledRule, Ledgers, offered, settled
from fugu.operators.wevent_local.reports import KnownWords, WordMemo


class Reports(NamedTuple):
    """Hold the report in force of each row, and the columns that belong to it."""

    bits: Array
    budget: Integers
    since: Integers
    histories: Words

    @classmethod
    def of(cls, state: State) -> "Reports":
        """Share the columns of a state."""
        return cls(state["report"], state["budget"], state["since"], state["history"])


class Positions(NamedTuple):
    """Hold the row and the symbol of each position, and room for what becomes of it."""

    rows: Integers
    symbols: Integers
    bits: Array
    published: Array
    epsilon: Floats
    spent: Integers

    @classmethod
    def of(cls, rows: Integers, symbols: Integers, size: int) -> "Positions":
        """Make room for as many positions and reports of this size."""
        count = len(rows)
        bits, published = np.zeros((count, size), dtype=bool), np.zeros(count, dtype=bool)
        return cls(rows, symbols, bits, published, np.zeros(count), np.zeros(count, dtype=np.int64))


class Space(NamedTuple):
    """Hold what is offered and drawn for positions that are drawn together.

    `missing` says which words are not known: the units that are offered, and the case of a
    decision.
    """

    decision: Integers
    publication: Integers
    share: Integers
    kept: Words
    wishes: Words
    asked: Array
    held: Integers
    published: Array
    answers: Words
    lanes: Integers
    blocks: Integers
    drawn: Words
    words: Words
    missing: Integers

    @classmethod
    def of(cls, size: int) -> "Space":
        """Make room for reports of this size."""
        decision, publication, share, held, lanes, blocks = np.zeros((6, LANES), dtype=np.int64)
        kept, wishes, answers = np.zeros((3, LANES), dtype=np.uint64)
        asked, published = np.zeros((2, LANES), dtype=bool)
        drawn = np.zeros((LANES, DIGEST_WORDS), dtype=np.uint64)
        whole = -(-size // DIGEST_WORDS) * DIGEST_WORDS
        return cls(
            decision,
            publication,
            share,
            kept,
            wishes,
            asked,
            held,
            published,
            answers,
            lanes,
            blocks,
            drawn,
            np.zeros((LANES, whole), dtype=np.uint64),
            np.zeros(2, dtype=np.int64),
        )


_DAMAGED = -1
_BYTE, _WORD = 8, 64


class CompiledReports(NamedTuple):
    """Decide and report position after position, in one call for a batch of any shape.

    `wishes` are the words that wish for a new report where the one in force does not hold the
    truth, and where it does; there are none where they depend on the report, too. `decision` and
    `release` are encoded fields, `answers` are the digests of no and yes, and `values` those of
    the symbols, joined.
    """

    rule: CompiledRule
    symbols: int
    wishes: Words
    decision: Bytes
    release: Bytes
    answers: Bytes
    values: Bytes

    @classmethod
    def of(
        cls,
        rule: CompiledRule,
        symbols: int,
        wishes: tuple[int, ...],
        answers: Bytes,
        values: Bytes,
    ) -> "CompiledReports":
        """Make the constants of a configured mechanism."""
        constant = np.array(wishes, dtype=np.uint64)
        decision, release = (bytes_of(encode_fields(name)) for name in ("decision", "report"))
        return cls(rule, symbols, constant, decision, release, answers.ravel(), values.ravel())

    def run(
        self, state: State, rows: Integers, symbols: Integers, draws: KeyedDraws, memo: WordMemo
    ) -> Run:
        """Run as `RunningMechanism` says; `ArithmeticError` where a window would exceed epsilon."""
        state, size = copied(state), self.symbols
        ledgers, reports = Ledgers.of(state), Reports.of(state)
        positions, space = Positions.of(rows, symbols, size), Space.of(size)
        longest = max(len(self.decision), len(self.release)), len(self.answers) // 2, HISTORY_BYTES
        columns = DrawColumns.of(draws.prefix.compiled, *draws.columns, *longest)
        done = _run(self, ledgers, reports, positions, columns, memo.known, space, 0)
        while done not in (_DAMAGED, len(rows)):
            memo.learn(*space.missing.tolist())
            done = _run(self, ledgers, reports, positions, columns, memo.known, space, done)
        if done == _DAMAGED:
            raise ArithmeticError(
                "budget: a window was about to be charged more than epsilon; the state is damaged, "
                "restore it from a snapshot"
            )
        kinds = np.where(positions.published, Kind.FRESH, Kind.REPEATED)
        releases = Releases(positions.bits, {"epsilon": positions.epsilon}, kinds)
        paid = np.ones(len(rows), dtype=bool)
        return Run(state, releases, {"spent": positions.spent}, paid)


@entry_point
def _run(
    step: CompiledReports,
    ledgers: Ledgers,
    reports: Reports,
    positions: Positions,
    draws: DrawColumns,
    known: KnownWords,
    space: Space,
    first: int,
) -> int:
    """Advance all rows from position `first` on; return the first position whose words are not
    known."""
    while first < len(positions.rows):
        count = together(positions.rows, first)
        if not _offer(step, ledgers, reports, positions, known, space, first, count):
            return first
        _decide(step, reports, positions, draws, space, first, count)
        _draw(step, reports, positions, draws, space, first, count)
        for lane in range(count):
            row = positions.rows[first + lane]
            offer = space.decision[lane], space.publication[lane], space.share[lane]
            if not settled(step.rule, ledgers, row, *offer, space.published[lane]):
                return _DAMAGED
            _publish(reports, positions, space, first + lane, lane)
            positions.spent[first + lane] = ledgers.spent[row]
        first += count
    return first


@part
def _offer(
    step: CompiledReports,
    ledgers: Ledgers,
    reports: Reports,
    positions: Positions,
    known: KnownWords,
    space: Space,
    first: int,
    count: int,
) -> bool:
    """Write what some positions are offered, and the words that go with it; return False where
    these are not known."""
    for lane in range(count):
        row, symbol = positions.rows[first + lane], positions.symbols[first + lane]
        decision, publication, share = offered(step.rule, ledgers, row, reports.since[row])
        space.decision[lane], space.publication[lane] = decision, publication
        space.share[lane], space.published[lane] = share, publication > 0
        asked = publication > 0 and step.rule.decides and reports.budget[row] > 0
        held, case = 0, -1
        if asked:
            bits = reports.bits[row]
            held = 1 if symbol >= len(bits) or bits[symbol] else 0
            if len(step.wishes):
                space.wishes[lane] = step.wishes[held]
            else:
                case = held
                for bit in bits:
                    case += 2 * bit
        space.asked[lane], space.held[lane] = asked, held
        if publication > 0 and not _known(known, space, lane, publication, case):
            space.missing[0], space.missing[1] = publication, case
            return False
    return True


@part
def _known(known: KnownWords, space: Space, lane: int, units: int, case: int) -> bool:
    """Look up the words of a budget, and of a decision unless the case is -1."""
    place = np.searchsorted(known.units, units)
    if place == len(known.units) or known.units[place] != units:
        return False
    space.kept[lane] = known.kept[place]
    if case < 0:
        return True
    low, high = 0, len(known.offered)
    while low < high:
        middle = (low + high) // 2
        offer = known.offered[middle]
        if offer < units or (offer == units and known.cases[middle] < case):
            low = middle + 1
        else:
            high = middle
    if low == len(known.offered) or known.offered[low] != units or known.cases[low] != case:
        return False
    space.wishes[lane] = known.wishes[low]
    return True


@part
def _decide(
    step: CompiledReports,
    reports: Reports,
    positions: Positions,
    draws: DrawColumns,
    space: Space,
    first: int,
    count: int,
) -> None:
    """Draw which of the positions that are asked wish for a new report."""
    size, there = len(step.answers) // 2, 0
    for lane in range(count):
        if space.asked[lane]:
            history = reports.histories[positions.rows[first + lane]]
            bound = step.answers, size, space.held[lane], history
            put_bound(draws, there, first + lane, step.decision, *bound)
            space.lanes[there] = lane
            there += 1
    if there == 0:
        return
    draw_bound(draws, there, space.answers)
    for drawn in range(there):
        lane = space.lanes[drawn]
        space.published[lane] = space.answers[drawn] < space.wishes[lane]


@part
def _draw(
    step: CompiledReports,
    reports: Reports,
    positions: Positions,
    draws: DrawColumns,
    space: Space,
    first: int,
    count: int,
) -> None:
    """Draw the words of new reports, as many blocks at a time as there are lanes."""
    size, there = len(step.answers) // 2, 0
    for lane in range(count):
        if space.published[lane]:
            position = first + lane
            bound = step.values, size, positions.symbols[position]
            history = reports.histories[positions.rows[position]]
            for block in range(space.words.shape[1] // DIGEST_WORDS):
                put_bound(draws, there, position, step.release, *bound, history)
                put_block(draws, there, block)
                space.lanes[there], space.blocks[there] = lane, block
                there += 1
                if there == LANES:
                    _place(draws, space, there)
                    there = 0
    if there:
        _place(draws, space, there)


@part
def _place(draws: DrawColumns, space: Space, there: int) -> None:
    """Draw some blocks of words, and place each at its report."""
    draw_blocks(draws, there, space.drawn)
    for drawn in range(there):
        lane, begin = space.lanes[drawn], DIGEST_WORDS * space.blocks[drawn]
        for word in range(DIGEST_WORDS):
            space.words[lane, begin + word] = space.drawn[drawn, word]


@part
def _publish(
    reports: Reports, positions: Positions, space: Space, position: int, lane: int
) -> None:
    """Put a new report in force, or repeat the last one, and move on the columns of reports."""
    row, symbol = positions.rows[position], positions.symbols[position]
    published, size = space.published[lane], positions.bits.shape[1]
    history = extended(reports.histories[row], 1 if published else 0)
    if published:
        packed = np.uint64(0)
        for bit in range(size):
            kept = space.words[lane, bit] < space.kept[lane]
            one = (bit == symbol) == kept
            reports.bits[row, bit] = one
            place = bit % _WORD
            if one:
                shift = place // _BYTE * _BYTE + _BYTE - 1 - place % _BYTE
                packed |= np.uint64(1) << np.uint64(shift)
            if place == _WORD - 1 or bit == size - 1:
                history = extended(history, int(packed))
                packed = np.uint64(0)
        reports.budget[row] = space.publication[lane]
        reports.since[row] = 1
    elif reports.budget[row] > 0:
        reports.since[row] += 1
    reports.histories[row] = history
    for bit in range(size):
        positions.bits[position, bit] = reports.bits[row, bit]
    positions.published[position] = published
    positions.epsilon[position] = reports.budget[row] / UNITS_PER_NAT
