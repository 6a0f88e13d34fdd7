"""Reports of a stream's symbols, new where the last one has become wrong, under a window budget."""

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from fugu.operators import compiled
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.columns import Bytes, binding_digest, taken
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Draws,
    Floats,
    Inputs,
    Integers,
    Kind,
    Releases,
    RepeatingMechanism,
    Run,
    State,
)
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.randomness import KeyedDraws, draws_of
from fugu.operators.sip.inputs import bound_to, checked_symbols, digest_table
from fugu.operators.wevent.allocation import Booleans, Offer, Rule
from fugu.operators.wevent.pba import NEVER, Flags
from fugu.operators.wevent_local.reports import (
    Dissimilarity,
    LaplaceDissimilarity,
    ReportTicks,
    ResponseDissimilarity,
    UnaryReports,
    WordMemo,
    reports_guarantee,
)
from fugu.operators.whole_numbers import take_whole_numbers

if TYPE_CHECKING:
    from fugu.operators.wevent_local.compiled_reports import CompiledReports

Measure = Literal["response", "laplace"]
_MEASURES: dict[Measure, type[Dissimilarity]] = {
    "response": ResponseDissimilarity,
    "laplace": LaplaceDissimilarity,
}
LARGEST_EPSILON = 50.0
LARGEST_ALPHABET = 2**16
SMALLEST_REPORT = 2
"""A report is offered so many units of 2^-40 nat, or there is none."""
MOST_ENUMERATED = 6
"""Laws are written down for so many symbols: there are 2 to the power of it reports."""


@dataclass(frozen=True, eq=False)
class WindowReports(RepeatingMechanism, ABC):
    """Report symbols by unary encoding, with `epsilon` for any `window` positions in a row.

    At every position a rule offers a budget for a report (`rule_class`). If the rule decides, a
    noisy bit says first whether the report in force still holds the true symbol; the bit is private
    by itself, and charged. A new report is published with its budget, or the last one is repeated.
    The first position has no decision, because there is nothing to compare with.

    Claim. Two streams that differ in the symbols of any `window` consecutive positions alone cause
    no sequence of reports and repetitions that is more than e^epsilon times as likely under one as
    under the other: w-event local differential privacy. The argument: budgets, flags and decisions
    of a position depend on earlier releases and on its own symbol only, the bit is private with the
    decision's budget, the report with its own, and the rule charges no window more than epsilon.
    Whether a position has a report is public, and counted. Words are compared with integers, so
    the claim is exact, and no delta is added.

    With `ticks`, positions are ticks of event time, and a stream may be absent from any of them:
    that is one more value, n. An absent stream decides as if the report held the truth, and no bit
    of its report is true. It differs from every symbol in one bit where symbols differ in two, so
    the same claim covers streams that differ in absence, too.

    Parameters: `symbols`, n >= 2; `window` in positions, >= 1; `epsilon` in nats, above 0 and at
    most 50; `dissimilarity`, how a rule that decides compares: `response` or `laplace`; `ticks`,
    None where positions are records.

    Input: symbol indices `(rows,)`, 0..n-1, with `ticks` also n. Release: bits `(rows, n)` of kind
    FRESH or REPEATED, annotated with `epsilon`, the nats of the report in force, from which its
    chance of a flipped bit follows (`UnaryReports`).

    State: that of the rule and of flags; `report (rows, n)`, `budget (rows,)` in units of 2^-40
    nat, 0 before the first report, `since (rows,)`, how many positions ago it was made, and
    `history (rows,)`, a digest of what was published. No private value is in the state. In audits
    release y is the report whose bits are those of y if it is fresh, and y + 2^n if repeated.

    Raises `ValueError` for a parameter out of bounds and, in `step`, for another input.

    Source: PBA specification, sections 1 and 3.
    """

    symbols: int
    window: int
    epsilon: float
    dissimilarity: Measure = "response"
    ticks: ReportTicks | None = field(default=None, kw_only=True)

    rule_class: ClassVar[type[Rule]]
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 2 <= self.symbols <= LARGEST_ALPHABET:
            raise ValueError(f"symbols: must be 2 to {LARGEST_ALPHABET}, not {self.symbols}")
        if self.window < 1:
            raise ValueError(f"window: must be at least 1 position, not {self.window}")
        if not 0.0 < self.epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {self.epsilon}"
            )
        if self.dissimilarity not in get_args(Measure):
            raise ValueError(f"dissimilarity: must be one of {', '.join(get_args(Measure))}")
        if units_of(self.epsilon) < 2 * SMALLEST_REPORT * self.window:
            raise ValueError("epsilon: too small for so long a window; nothing could be reported")

    @cached_property
    def rule(self) -> Rule:
        """Return how the budget is spread."""
        return self.rule_class(self.window, units_of(self.epsilon), SMALLEST_REPORT)

    @property
    def inputs(self) -> int:
        """Return how many values a position may have: the symbols, and absence if it is one."""
        return self.symbols + (self.ticks is not None)

    @property
    def _flags(self) -> Flags:
        return NEVER

    @cached_property
    def reports(self) -> UnaryReports:
        """Return how symbols are reported."""
        return UnaryReports(self.symbols)

    @cached_property
    def _decision(self) -> Dissimilarity:
        return _MEASURES[self.dissimilarity](self.symbols, self.rule.decision)

    def start(self, rows: int) -> State:
        return {
            **self.rule.start(rows),
            **self._flags.start(rows, self.symbols),
            "report": np.zeros((rows, self.symbols), dtype=bool),
            "budget": np.zeros(rows, dtype=np.int64),
            "since": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    @property
    def runs(self) -> bool:
        return self._compiled is not None

    def run(self, state: State, rows: Integers, inputs: Inputs, draws: Draws) -> Run:
        """Run one position after the other, compiled; in rounds for draws of another kind."""
        if self._compiled is None or type(draws) is not KeyedDraws:
            return run_in_rounds(self, state, rows, inputs, draws)
        symbols = checked_symbols(inputs, self.inputs)
        return self._compiled.run(state, rows, symbols, draws, self._memo)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = checked_symbols(inputs, self.inputs)
        rows = len(symbols)
        offer = self._offer(state)
        published = offer.publication > 0
        asked = np.flatnonzero(self._asks(state) & published)
        if len(asked):
            some = taken(state, asked)
            holds = self._holds(some["report"], symbols[asked])
            answers = bound_to(self._answers, holds.astype(np.int64), some["history"])
            words = draws_of(draws, asked, rows).words("decision", answers)[:, 0, 0]
            ones, offered = some["report"].sum(axis=1), offer.publication[asked]
            published[asked] = self._decision.wishes(holds, ones, offered, words)
        report, there = state["report"].copy(), np.flatnonzero(published)
        if len(there):
            bindings = bound_to(self._bindings, symbols[there], state["history"][there])
            own = draws_of(draws, there, rows)
            words = own.words("report", bindings, count=self.symbols)[:, 0]
            report[there] = self.reports.report(symbols[there], offer.publication[there], words)
        after = self._after(state, offer, published, report)
        kinds = np.where(published, Kind.FRESH, Kind.REPEATED)
        epsilon = after["budget"] / units_of(1.0)
        return after, Releases(report.copy(), {"epsilon": epsilon}, kinds)

    @property
    def outcomes(self) -> tuple[int, int]:
        few = self.symbols <= MOST_ENUMERATED
        return (self.inputs, 2 * 2**self.symbols) if few else (0, 0)

    def outcome_of(self, releases: Releases) -> Integers:
        assert releases.kinds is not None
        again = releases.kinds != Kind.FRESH
        return np.asarray(self._numbers(releases.values) + again * 2**self.symbols)

    def published(self, outcomes: Integers) -> Releases:
        repeats, numbers = np.divmod(outcomes, 2**self.symbols)
        kinds = np.where(repeats > 0, Kind.REPEATED, Kind.FRESH)
        return Releases(self._bits(numbers), kinds=kinds)

    def release_law(self, state: State) -> Floats:
        offer, asks = self._offer(state), self._asks(state)
        count = 2**self.symbols
        law = np.zeros((len(asks), self.inputs, 2 * count))
        every = self._bits(np.arange(count))
        numbers = self._numbers(state["report"])
        for row, units in enumerate(offer.publication.tolist()):
            wish = np.full(self.inputs, float(units > 0))
            if units and asks[row]:
                report = state["report"][row].tolist()
                held, ones = [*report, True][: self.inputs], sum(report)
                wish = np.array(
                    [self._decision.wish_words(holds, ones, units) / 2.0**64 for holds in held]
                )
            if units:
                chances = self.reports.chances(units, every, self.inputs)
                law[row, :, :count] = wish[:, None] * chances
            law[row, :, count + numbers[row]] = 1.0 - wish
        return law

    def follow(self, state: State, released: Integers) -> State:
        return self.follow_releases(state, self.published(released))

    def follow_releases(self, state: State, releases: Releases) -> State:
        """Return the state after these releases, for alphabets of any size."""
        published = np.equal(np.asarray(releases.kinds), Kind.FRESH)
        report = np.where(published[:, None], releases.values, state["report"])
        return self._after(state, self._offer(state), published, report)

    def report_chances(self, state: State) -> Floats:
        """Return P(the next position has a new report given its symbol), `(rows, symbols)`.

        It is 0 where the budget allows none, and else depends on the report in force, which is
        public, where the rule asks about it.
        """
        offer = self._offer(state)
        possible = offer.publication > 0
        chances = np.repeat(possible[:, None].astype(np.float64), self.symbols, axis=1)
        asked = np.flatnonzero(self._asks(state) & possible)
        if len(asked):
            report = state["report"][asked]
            public = np.stack([report.sum(axis=1), offer.publication[asked]])
            distinct, places = np.unique(public, axis=1, return_inverse=True)
            words = [
                [self._decision.wish_words(holds, *one) for holds in (False, True)]
                for one in distinct.T.tolist()
            ]
            wishes = np.array(words, dtype=np.float64) / 2.0**64
            chances[asked] = np.take_along_axis(
                wishes[places.ravel()], report.astype(np.int64), axis=1
            )
        return chances

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (reports_guarantee(in_nats(self.rule.most), self.window, self.ticks),)

    def audit(self) -> Mapping[str, object]:
        """Return budgets of decisions and reports, and how exactly counts can be estimated."""
        first = int(self.rule.offer(self.start(1), np.zeros(1, dtype=bool)).publication[0])
        flipped = self.reports.flip_chance(first)
        return {
            "charge of a decision in nats": in_nats(self.rule.decision),
            "charge of the first report in nats": in_nats(first),
            "most that a window is charged in nats": in_nats(self.rule.most),
            "chance that a bit of the first report is flipped": flipped,
            "variance of a count per user, first report": flipped
            * (1.0 - flipped)
            / (1.0 - 2.0 * flipped) ** 2,
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            self.symbols,
            self.window,
            units_of(self.epsilon),
            self.dissimilarity,
            self._flags.identity(),
            *(() if self.ticks is None else ("ticks", self.ticks.milliseconds)),
        )

    def _offer(self, state: State) -> Offer:
        return self.rule.offer(state, self._flags.now(state))

    def _asks(self, state: State) -> Booleans:
        """Return which rows have a report that their decision is about."""
        return np.asarray((state["budget"] > 0) & self.rule.decides)

    def _holds(self, reports: Booleans, symbols: Integers) -> Booleans:
        """Return which reports hold these values; every report does for a stream that is absent."""
        absent = symbols == self.symbols
        held = reports[np.arange(len(symbols)), np.where(absent, 0, symbols)]
        return np.asarray(held | absent)

    def _after(self, state: State, offer: Offer, published: Booleans, report: Booleans) -> State:
        there = np.flatnonzero(published)
        history = extended(state["history"], published.astype(np.int64))
        for part in _packed(report):
            history = np.where(published, extended(history, part), history)
        since = np.where(published, 0, state["since"]) + 1
        return {
            **state,
            **self.rule.settle(state, offer, published),
            **self._flags.after(state, there, report[there].astype(np.int64)),
            "report": report,
            "budget": np.where(published, offer.publication, state["budget"]),
            "since": np.where(state["budget"] + published > 0, since, 0),
            "history": history,
        }

    def _numbers(self, bits: Booleans) -> Integers:
        places = 1 << np.arange(self.symbols, dtype=np.int64)
        return np.asarray(bits.astype(np.int64) @ places)

    def _bits(self, numbers: Integers) -> Booleans:
        return np.asarray(numbers[:, None] >> np.arange(self.symbols) & 1, dtype=bool)

    @cached_property
    def _compiled(self) -> "CompiledReports | None":
        if not compiled.available():
            return None
        from fugu.operators.wevent_local.compiled_reports import CompiledReports
        from fugu.operators.wevent_local.compiled_rules import CompiledRule

        rule = CompiledRule.of(self.rule, self._flags)
        if rule is None:
            return None
        wishes = self._decision.constant_words if self.rule.decides else ()
        return CompiledReports.of(rule, self.symbols, wishes, self._answers, self._bindings)

    @cached_property
    def _memo(self) -> WordMemo:
        kept = self.reports.kept_words
        return WordMemo(kept, self._decision.wish_words)

    @cached_property
    def _answers(self) -> Bytes:
        return digest_table(range(2))

    @cached_property
    def _bindings(self) -> Bytes:
        return digest_table(range(self.inputs))


def _packed(bits: Booleans) -> list[Integers]:
    """Return the bits of each row as 64-bit numbers, the first ones first."""
    packed = np.packbits(bits, axis=1)
    wide = np.zeros((len(bits), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    return list(wide.view("<u8").astype(np.int64).T)
