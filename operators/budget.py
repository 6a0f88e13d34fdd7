"""A privacy budget over the life of a stream, around any mechanism with charges."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_guarantees import of_stream, of_window
from fugu.operators.budget_inside import BudgetInside
from fugu.operators.budget_ledger import EXHAUSTED, LAST, BudgetLedger
from fugu.operators.budget_runs import BudgetRun
from fugu.operators.budget_units import LARGEST_SPENT, UNITS_PER_NAT, in_nats
from fugu.operators.byte_fields import binding_digest
from fugu.operators.columns import chosen, copied, put, taken, where_rows
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import Guarantee
from fugu.operators.independent_releases import IndependentReleases
from fugu.operators.mechanism import (
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
    Run,
    RunningMechanism,
    State,
    TimedMechanism,
)

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
