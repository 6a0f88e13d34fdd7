"""Keep a privacy budget over the life of a stream, around any mechanism with charges."""

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_units import LARGEST_SPENT, UNITS_PER_NAT, in_nats
from fugu.operators.columns import binding_digest, chosen, copied, put, taken, where_rows
from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import (
    AT_THE_END,
    Array,
    ChargingMechanism,
    ChargingRunningMechanism,
    Draws,
    EnumerableMechanism,
    ExhaustibleMechanism,
    Floats,
    HoldingMechanism,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    RepeatingMechanism,
    Run,
    RunningMechanism,
    State,
    TimedMechanism,
)
from fugu.operators.multi_step import IndependentReleases
from fugu.operators.whole_numbers import take_whole_numbers

EXHAUSTED = "budget_exhausted"
LAST = "budget_last"
WINDOW = "budget_window"
_NOTHING = -1


@dataclass(frozen=True)
class BudgetLedger:
    """Count charges against `total` units over a stream's life, or over `window` positions."""

    total: int
    window: int | None

    def start(self, rows: int) -> State:
        """Return the columns of streams that have spent nothing."""
        if self.window is None:
            return {EXHAUSTED: np.zeros(rows, dtype=bool)}
        return {WINDOW: np.zeros((rows, self.window - 1), dtype=np.int64)}

    def room(self, state: State) -> Integers:
        """Return the units that each row may still spend; below 0 where nothing can be paid."""
        if self.window is not None:
            return np.asarray(self.total - state[WINDOW].sum(axis=1, dtype=np.int64))
        return np.where(state[EXHAUSTED], _NOTHING, self.total - state["spent"])

    def after(self, state: State, charge: Integers, paid: NDArray[np.bool_]) -> State:
        """Return the columns one position later; a row that was not `paid` for is exhausted."""
        if self.window is None:
            return {EXHAUSTED: ~paid}
        window = np.concatenate([state[WINDOW], charge[:, None]], axis=1)
        return {WINDOW: np.ascontiguousarray(window[:, 1:])}

    def with_more(self, state: State, charge: Integers) -> State:
        """Return the columns with more charges at the last position."""
        if self.window is None:
            return {}
        window = state[WINDOW].copy()
        window[:, -1:] += charge[:, None]
        return {WINDOW: window}

    def exhausted(self, state: State) -> NDArray[np.bool_]:
        """Return which rows could not pay once; with a window none is exhausted for good."""
        if self.window is not None:
            return np.zeros(len(state["spent"]), dtype=bool)
        return state[EXHAUSTED]

    def level(self, state: State) -> Integers:
        """Return the tenths of the total that are spent, rounded down; 0 with a window."""
        if self.window is not None:
            return np.zeros(len(state["spent"]), dtype=np.int64)
        tenths = np.minimum(state["spent"] // -(-self.total // 10), 10)
        return np.where(self.exhausted(state), AT_THE_END, tenths)


class BudgetInside(RepeatingMechanism, TimedMechanism, HoldingMechanism, ABC):
    """Pass on what the mechanism inside is, whether it has a time, holds back, or repeats."""

    mechanism: ChargingMechanism

    @property
    def kind(self) -> str:
        return self.mechanism.kind

    @property
    def implementation(self) -> int:
        return self.mechanism.implementation

    def holding(self, state: State) -> NDArray[np.bool_]:
        if not isinstance(self.mechanism, HoldingMechanism):
            return np.zeros(len(state["spent"]), dtype=bool)
        return self.mechanism.holding(self._inner(state))

    @property
    def tick_milliseconds(self) -> int | None:
        inside = self.mechanism
        return inside.tick_milliseconds if isinstance(inside, TimedMechanism) else None

    @property
    def outcomes(self) -> tuple[int, int]:
        inside = self.mechanism
        return inside.outcomes if isinstance(inside, EnumerableMechanism) else (0, 0)

    def outcome_of(self, releases: Releases) -> Integers:
        """Return the number inside, or the value where there is nothing else to a release."""
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.outcome_of(releases)
        return releases.values

    def published(self, outcomes: Integers) -> Releases:
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.published(outcomes)
        return Releases(outcomes)

    def _inner(self, state: State) -> State:
        return {name: state[name] for name in self.mechanism.start(0)}


@dataclass(frozen=True)
class BudgetRun:
    """Run a mechanism while `total` units pay for it, and publish one free thing afterwards.

    A row that could not pay once is exhausted for good, so its releases are those that were paid
    for, and then one and the same thing for ever. `when_exhausted` is the kind of that, and
    `constant` says that it is the mechanism's constant and not the last release.
    """

    mechanism: ChargingRunningMechanism
    total: int
    when_exhausted: Kind
    constant: bool

    def run(
        self,
        inner: State,
        last: Array,
        exhausted: Array,
        rows: Integers,
        inputs: Inputs,
        draws: Draws,
    ) -> tuple[Run, Array, Array]:
        """Return the run, the last release of every row, and which rows have come to their end."""
        inside = self._inside(inner, exhausted, rows, inputs, draws)
        paid, releases = inside.paid, inside.releases
        last, values = last.copy(), releases.values.copy()
        last[rows[paid]] = values[paid]
        unpaid = np.flatnonzero(~paid)
        ended = rows[unpaid]
        instead = np.asarray(self.mechanism.constant) if self.constant else last[ended]
        values[unpaid] = instead
        if self.when_exhausted != Kind.SUPPRESSED:
            last[ended] = instead
        notes = copied(releases.annotations)
        for note in notes.values():
            note[unpaid] = np.nan
        state, exhausted = inside.state, exhausted.copy()
        exhausted[ended] = True
        for name, column in self.mechanism.start(1).items():
            if name != "spent":
                state[name][ended] = column[0]
        own = Kind.FRESH if releases.kinds is None else releases.kinds
        kinds = np.where(paid, own, self.when_exhausted)
        run = Run(state, Releases(values, notes, kinds), inside.ledger, paid)
        return run, last, exhausted

    def _inside(
        self, inner: State, exhausted: Array, rows: Integers, inputs: Inputs, draws: Draws
    ) -> Run:
        """Run all rows; a row that has ended is one that spent everything, and pays for nothing."""
        spent = inner["spent"]
        ledger = {**inner, "spent": np.where(exhausted, LARGEST_SPENT, spent)}
        run = self.mechanism.run(ledger, rows, inputs, draws, self.total)
        state = {**run.state, "spent": np.where(exhausted, spent, run.state["spent"])}
        by_position = np.where(exhausted[rows], spent[rows], run.ledger["spent"])
        return Run(state, run.releases, {"spent": by_position}, run.paid)


_ENFORCED = Point("budget", "the budget refuses every release beyond it")
RATE = Point(
    "budget-of-a-window",
    "any {records:,} consecutive records of a stream spend at most {nats:.6g} nats, which limits "
    "the rate and not the composed privacy loss of a stream",
)
_RATE_OF_DELTA = Point("delta-of-a-window", "the deltas of so many records are at most {delta:.3g}")


def of_stream(
    inner: tuple[Guarantee, ...], total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises about a whole stream that spends at most `total` nats.

    The headline is what is charged. A stream that spent E in it is 2 E-private without a model.
    `releases` is their largest number, or None where it depends on what they cost.
    """
    if not inner[0].sound:
        return inner
    return tuple(
        replace(
            guarantee.of_releases(releases),
            epsilon=total * _factor(guarantee, inner),
            per="stream",
            accounting=(_ENFORCED,),
        )
        for guarantee in inner
    )


def of_window(
    inner: tuple[Guarantee, ...], window: int, total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises per release, with the accounting rule of a window of positions."""
    return tuple(
        replace(
            guarantee,
            accounting=(
                *guarantee.accounting,
                RATE.of(records=window, nats=total * _factor(guarantee, inner)),
                *_deltas(guarantee.of_releases(releases).total_delta),
            ),
        )
        for guarantee in inner
    )


def _factor(guarantee: Guarantee, inner: tuple[Guarantee, ...]) -> int:
    return 1 if guarantee.notion == inner[0].notion else 2


def _deltas(delta: float) -> tuple[Point, ...]:
    return (_RATE_OF_DELTA.of(delta=delta),) if delta > 0.0 else ()


WhenExhausted = Literal["repeat", "constant", "suppress", "stop"]

_ROUNDING = Fraction(1, 10**9)
"""The share of a total that may be spent beyond it, for the rounding of charges."""
_KINDS = {
    "repeat": Kind.REPEATED,
    "constant": Kind.REPEATED,
    "suppress": Kind.SUPPRESSED,
    "stop": Kind.STOPPED,
}


@dataclass(frozen=True, eq=False)
class Budgeted(BudgetInside, ExhaustibleMechanism, RunningMechanism):
    """Run a mechanism under a budget, and publish something free where it cannot pay.

    Claim. Without `window`, everything a stream ever leaks sums to at most `total` nats: Sequence
    Information Privacy with `total` relative to the model, `2 total` for any prior. With `window`,
    every `window` consecutive positions spend at most `total`; that is accounting of releases,
    *not* privacy of the data in a window, because later releases keep leaking through the
    correlation. The belief is never reset.

    The decision depends on releases and public parameters only: `next_charge` is a function of the
    belief. It is made before the draw (dry run), and the charge is committed with the release.

    Without `window`, a stream that could not pay once is exhausted for good: its belief is dropped,
    nothing fresh is released any more, and the annotations of what is published instead are NaN,
    since nothing is said about the present. With `window`, the belief moves on and the stream pays
    again when the window has passed.

    Parameters: `total` in nats, of which a billionth more may be spent, so that `total` divided by
    epsilon is the number of releases although each charge is rounded up; `window` in positions or
    None; `when_exhausted`: `repeat` the last release, release the `constant` most likely first
    symbol, `suppress` the release, or `stop` the pipeline. All are free. Input, release and errors
    are those of the mechanism inside; releases carry a `Kind`. State: the inner state,
    `budget_last`, and `budget_exhausted` or the charges `budget_window (rows, window - 1)`.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
    >>> budgeted = Budgeted(grr, total=2.0, when_exhausted="suppress")
    >>> state = {**budgeted.start(2), "spent": np.array([2**40, 2**41])}
    >>> budgeted.pays(state).tolist(), budgeted.level(state).tolist()
    ([True, False], [4, 9])

    Source: SIP specification section 7 (ledger, refresh) and section 4 (steps without a release).
    """

    mechanism: ChargingMechanism
    total: float
    window: int | None = None
    when_exhausted: WhenExhausted = "repeat"

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not isfinite(self.total) or self.total <= 0.0:
            raise ValueError(f"total: must be a positive number of nats, not {self.total}")
        if self._total_units > LARGEST_SPENT // 2:
            raise ValueError(f"total: at most {in_nats(LARGEST_SPENT // 2):g} nats can be counted")
        if self.when_exhausted not in _KINDS:
            raise ValueError(f"when_exhausted: must be one of {', '.join(_KINDS)}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window: must be at least 1 position, not {self.window}")

    def start(self, rows: int) -> State:
        own = {LAST: self._constants(rows), **self._ledger.start(rows)}
        return {**self.mechanism.start(rows), **own}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        inner = self._inner(state)
        return self._settle(state, inner, *self.mechanism.step(inner, inputs, draws))

    @property
    def runs(self) -> bool:
        inside = self.mechanism
        running = isinstance(inside, ChargingRunningMechanism) and inside.runs
        return running and self.window is None

    def run(self, state: State, rows: Integers, inputs: Inputs, draws: Draws) -> Run:
        assert isinstance(self.mechanism, ChargingRunningMechanism)
        instead, constant = _KINDS[self.when_exhausted], self.when_exhausted == "constant"
        inside = BudgetRun(self.mechanism, self._total_units, instead, constant)
        inner, ended = self._inner(state), self.exhausted(state)
        run, last, ended = inside.run(inner, state[LAST], ended, rows, inputs, draws)
        own = {LAST: last, EXHAUSTED: ended}
        ledger = {**run.ledger, EXHAUSTED: ~run.paid}
        return Run({**run.state, **own}, run.releases, ledger, run.paid)

    def finish(self, state: State, draws: Draws) -> tuple[State, Releases]:
        """Release what is held back; what the budget does not pay for is held back further.

        Positions are held back only while the whole release could be paid for, so a smaller one
        can where it costs no more. Its charge counts with the last position of the stream. The
        release that is repeated later is the last whole one.
        """
        assert isinstance(self.mechanism, HoldingMechanism)
        inner = self._inner(state)
        stepped, releases = self.mechanism.finish(inner, draws)
        charge = stepped["spent"] - inner["spent"]
        paid = charge <= self.mechanism.next_charge(inner)
        if self.window is None:
            paid |= state["spent"] + charge <= self._total_units
        own = self._ledger.with_more(state, np.where(paid, charge, 0))
        after = {**state, **chosen(paid, stepped, inner), **own}
        assert releases.kinds is not None
        kinds = np.where(paid, releases.kinds, Kind.SUPPRESSED)
        return after, replace(releases, kinds=kinds)

    def pays(self, state: State) -> NDArray[np.bool_]:
        """Return which rows can pay for their next release: a function of what they released."""
        return self._allowed(state, self._inner(state))

    def elapse(self, state: State, ticks: Integers) -> State:
        """Let time pass inside, but no more for a stream that is exhausted for good."""
        if not isinstance(self.mechanism, TimedMechanism):
            return state
        elapsed = self.mechanism.elapse(self._inner(state), ticks)
        return {**state, **chosen(~self.exhausted(state), elapsed, state)}

    def release_law(self, state: State) -> Floats:
        """Return the law inside where the budget allows it; elsewhere one release is certain."""
        inner = self._inner(state)
        law = self._enumerable.release_law(inner)
        instead = self._instead(state)
        kinds = np.full(len(instead), _KINDS[self.when_exhausted])
        certain = np.arange(law.shape[2]) == self.outcome_of(Releases(instead, {}, kinds))[:, None]
        allowed = self._allowed(state, inner)
        return np.where(allowed[:, None, None], law, certain[:, None, :])

    def follow(self, state: State, released: Integers) -> State:
        inner = self._inner(state)
        paid = self._allowed(state, inner)
        stepped = copied(inner)
        put(stepped, paid, self._enumerable.follow(taken(inner, paid), released[paid]))
        return self._settle(state, inner, stepped, self.published(released))[0]

    @property
    def lasting(self) -> tuple[str, ...]:
        return () if self.window is not None else ("spent", LAST, EXHAUSTED)

    def exhausted(self, state: State) -> NDArray[np.bool_]:
        return self._ledger.exhausted(state)

    def level(self, state: State) -> Integers:
        return self._ledger.level(state)

    def guarantees(self) -> tuple[Guarantee, ...]:
        inner, releases = self.mechanism.guarantees(), None
        if isinstance(self.mechanism, IndependentReleases):
            releases = self._total_units // self.mechanism.largest_charge
        if self.window is not None:
            return of_window(inner, self.window, self.total, releases)
        return of_stream(inner, in_nats(self._total_units), releases)

    def audit(self) -> Mapping[str, object]:
        return {
            **self.mechanism.audit(),
            "budget in nats": self.total,
            "budget window in records": self.window,
            "releases that the budget always pays for": (
                self._total_units // self.mechanism.largest_charge
            ),
        }

    def law_digest(self) -> bytes:
        own = self._total_units, self.window or 0, self.when_exhausted
        return binding_digest("budgeted", self.implementation, self.mechanism.law_digest(), *own)

    @cached_property
    def _total_units(self) -> int:
        return ceil(Fraction(self.total) * UNITS_PER_NAT * (1 + _ROUNDING))

    @cached_property
    def _ledger(self) -> BudgetLedger:
        return BudgetLedger(self._total_units, self.window)

    @property
    def _enumerable(self) -> EnumerableMechanism:
        assert isinstance(self.mechanism, EnumerableMechanism)
        return self.mechanism

    def _settle(
        self, state: State, inner: State, stepped: State, releases: Releases
    ) -> tuple[State, Releases]:
        """Keep the releases that are paid for, replace the others, and write the ledger."""
        allowed = self._allowed(state, inner)
        fresh = releases.kinds
        if fresh is None:
            fresh = np.full(len(allowed), Kind.FRESH)
        if allowed.all():
            values, annotations, kinds = releases.values, releases.annotations, fresh
            after = stepped
        else:
            skipped, instead = self._skip(inner, self._instead(state))
            after = chosen(allowed, stepped, skipped)
            values = where_rows(allowed, releases.values, instead.values)
            annotations = chosen(allowed, releases.annotations, instead.annotations)
            kinds = np.where(allowed, fresh, _KINDS[self.when_exhausted])
        after[LAST] = where_rows(kinds != Kind.SUPPRESSED, values, state[LAST])
        own = self._ledger.after(state, after["spent"] - inner["spent"], allowed)
        return {**after, **own}, Releases(values, annotations, kinds)

    def _allowed(self, state: State, inner: State) -> Array:
        """Return which rows can pay; the dry run is made only where the largest charge is not."""
        room = self._ledger.room(state)
        allowed: Array = self.mechanism.largest_charge <= room
        unsure = np.flatnonzero(~allowed & (room >= 0))
        if len(unsure):
            charge = self.mechanism.next_charge(taken(inner, unsure))
            allowed[unsure] = charge <= room[unsure]
        return allowed

    def _skip(self, inner: State, instead: Array) -> tuple[State, Releases]:
        skipped, releases = self.mechanism.skip(inner, instead)
        if self.window is not None:
            return skipped, releases
        ended = {**self.mechanism.start(len(instead)), "spent": inner["spent"].copy()}
        silent = {name: np.full_like(note, np.nan) for name, note in releases.annotations.items()}
        return ended, Releases(releases.values, silent)

    def _instead(self, state: State) -> Array:
        if self.when_exhausted == "constant":
            return self._constants(len(state[LAST]))
        return state[LAST].copy()

    def _constants(self, rows: int) -> Array:
        return np.repeat(np.asarray(self.mechanism.constant)[None], rows, axis=0)


def memoryless(mechanism: Mechanism) -> bool:
    """Return whether what is released of a position depends on its input alone, and is released
    once: nothing is remembered, and an exhausted budget repeats nothing."""
    if isinstance(mechanism, Budgeted) and mechanism.when_exhausted == "repeat":
        return False
    return isinstance(without_budget(mechanism), IndependentReleases)


def without_budget(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism inside, where there is a budget."""
    return mechanism.mechanism if isinstance(mechanism, Budgeted) else mechanism
