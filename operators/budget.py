"""A budget over a stream's life: what happens when the next release cannot be paid for.

Claim. Without `window`, everything a stream ever leaks sums to at most `total` nats: Sequence
Information Privacy with `total` relative to the model, `2 total` for any prior. With `window`,
every `window` consecutive positions spend at most `total`; that is accounting of releases, *not*
privacy of the data in a window, because later releases keep leaking through the correlation. The
belief is never reset.

The decision depends on releases and public parameters only: `next_charge` is a function of the
belief. It is made before the draw (dry run), and the charge is committed with the release.

Without `window`, a stream that could not pay once is exhausted for good: its belief is dropped,
nothing fresh is released any more, and the annotations of what is published instead are NaN, since
nothing is said about the present. With `window`, the belief moves on and the stream pays again when
the window has passed.

Parameters: `total` in nats, of which a billionth more may be spent, so that `total` divided by
epsilon is the number of releases although each charge is rounded up; `window` in positions or None;
`when_exhausted`: `repeat` the last release, release the `constant` most likely first symbol,
`suppress` the release, or `stop` the pipeline. All are free. Input, release and errors are those of
the mechanism inside; releases carry a `Kind`.

>>> from fugu.operators.randomness import DrawScope, record_positions
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
>>> from fugu.operators.sip.markov_model import MarkovModel
>>> model = MarkovModel.smoothed([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], smoothing=0.0)
>>> budgeted = Budgeted(ConditionalRandomizedResponse(model, epsilon=1.0), total=2.0)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "crr", 1, budgeted.law_digest())
>>> state, kinds = budgeted.start(1), []
>>> for position in record_positions("vitals", 0, range(4)):
...     draws = scope.draws([b"alice"], [position])
...     state, releases = budgeted.step(state, Inputs(np.array([1])), draws)
...     kinds.append(Kind(releases.kinds[0]).name)
>>> kinds
['FRESH', 'FRESH', 'REPEATED', 'REPEATED']

Source: SIP specification section 7 (ledger, refresh) and section 4 (steps without a release).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from math import ceil, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_runs import BudgetRun
from fugu.operators.budget_units import LARGEST_SPENT, UNITS_PER_NAT, in_nats
from fugu.operators.byte_fields import encode_fields
from fugu.operators.columns import chosen, copied, put, taken, where_rows
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import Guarantee
from fugu.operators.independent_releases import IndependentReleases
from fugu.operators.mechanism import (
    AT_THE_END,
    Array,
    ChargingMechanism,
    ChargingRunningMechanism,
    Draws,
    EnumerableMechanism,
    Floats,
    HoldingMechanism,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    RepeatingMechanism,
    Run,
    State,
    TimedMechanism,
)

WhenExhausted = Literal["repeat", "constant", "suppress", "stop"]

_LAST = "budget_last"
_WINDOW = "budget_window"
_EXHAUSTED = "budget_exhausted"
_ROUNDING = Fraction(1, 10**9)
"""What a total may be exceeded by, relatively, for the rounding of charges."""
_KINDS = {
    "repeat": Kind.REPEATED,
    "constant": Kind.REPEATED,
    "suppress": Kind.SUPPRESSED,
    "stop": Kind.STOPPED,
}


@dataclass(frozen=True, eq=False)
class Budgeted:
    """A mechanism under a budget; see the module."""

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

    @property
    def kind(self) -> str:
        """The kind of the mechanism inside."""
        return self.mechanism.kind

    @property
    def implementation(self) -> int:
        """The implementation of the mechanism inside."""
        return self.mechanism.implementation

    def start(self, rows: int) -> State:
        """The inner state, the last release (at first the constant), and whether the end has come,
        or the charges of a window."""
        own: State = {_LAST: self._constants(rows)}
        if self.window is None:
            own[_EXHAUSTED] = np.zeros(rows, dtype=bool)
        else:
            own[_WINDOW] = np.zeros((rows, self.window - 1), dtype=np.int64)
        return {**self.mechanism.start(rows), **own}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release where the budget allows it, and do what is configured elsewhere."""
        inner = self._inner(state)
        return self._settle(state, inner, *self.mechanism.step(inner, inputs, draws))

    @property
    def runs(self) -> bool:
        """Without a window, if the mechanism inside does."""
        inside = self.mechanism
        running = isinstance(inside, ChargingRunningMechanism) and inside.runs
        return running and self.window is None

    def run(self, state: State, rows: Integers, inputs: Inputs, draws: Draws) -> Run:
        """One run inside; see `budget_runs`."""
        assert isinstance(self.mechanism, ChargingRunningMechanism)
        instead, constant = _KINDS[self.when_exhausted], self.when_exhausted == "constant"
        inside = BudgetRun(self.mechanism, self._total_units, instead, constant)
        inner, ended = self._inner(state), self.exhausted(state)
        run, last, ended = inside.run(inner, state[_LAST], ended, rows, inputs, draws)
        own = {_LAST: last, _EXHAUSTED: ended}
        ledger = {**run.ledger, _EXHAUSTED: ~run.paid}
        return Run({**run.state, **own}, run.releases, ledger, run.paid)

    def holding(self, state: State) -> NDArray[np.bool_]:
        """Those of the mechanism inside, if it holds anything back."""
        if not isinstance(self.mechanism, HoldingMechanism):
            return np.zeros(len(state[_LAST]), dtype=bool)
        return self.mechanism.holding(self._inner(state))

    def finish(self, state: State, draws: Draws) -> tuple[State, Releases]:
        """Release what is held back; what the budget does not pay for is held back further.

        Positions are held back only while the whole release could be paid for, so a smaller one
        can where it costs no more. Its charge counts with the last position of the stream. What is
        repeated later is the last whole release.
        """
        assert isinstance(self.mechanism, HoldingMechanism)
        inner = self._inner(state)
        stepped, releases = self.mechanism.finish(inner, draws)
        charge = stepped["spent"] - inner["spent"]
        paid = charge <= self.mechanism.next_charge(inner)
        if self.window is None:
            paid |= state["spent"] + charge <= self._total_units
        after = {**state, **chosen(paid, stepped, inner)}
        if self.window is not None:
            after[_WINDOW] = state[_WINDOW].copy()
            after[_WINDOW][:, -1:] += np.where(paid, charge, 0)[:, None]
        assert releases.kinds is not None
        kinds = np.where(paid, releases.kinds, Kind.SUPPRESSED)
        return after, replace(releases, kinds=kinds)

    def pays(self, state: State) -> NDArray[np.bool_]:
        """Which rows can pay for their next release: a function of what they released."""
        return self._allowed(state, self._inner(state))

    @property
    def tick_milliseconds(self) -> int | None:
        """That of the mechanism inside."""
        inside = self.mechanism
        return inside.tick_milliseconds if isinstance(inside, TimedMechanism) else None

    def elapse(self, state: State, ticks: Integers) -> State:
        """Time passes inside, but no more for a stream that is exhausted for good."""
        if not isinstance(self.mechanism, TimedMechanism):
            return state
        elapsed = self.mechanism.elapse(self._inner(state), ticks)
        return {**state, **chosen(~self.exhausted(state), elapsed, state)}

    @property
    def outcomes(self) -> tuple[int, int]:
        """Those of the mechanism inside."""
        inside = self.mechanism
        return inside.outcomes if isinstance(inside, EnumerableMechanism) else (0, 0)

    def release_law(self, state: State) -> Floats:
        """The law inside where the budget allows it; elsewhere one release, whatever the input."""
        inner = self._inner(state)
        law = self._enumerable.release_law(inner)
        instead = self._instead(state)
        kinds = np.full(len(instead), _KINDS[self.when_exhausted])
        certain = np.arange(law.shape[2]) == self.outcome_of(Releases(instead, {}, kinds))[:, None]
        allowed = self._allowed(state, inner)
        return np.where(allowed[:, None, None], law, certain[:, None, :])

    def follow(self, state: State, released: Integers) -> State:
        """The state inside and the ledger of the budget, as after `step`."""
        inner = self._inner(state)
        paid = self._allowed(state, inner)
        stepped = copied(inner)
        put(stepped, paid, self._enumerable.follow(taken(inner, paid), released[paid]))
        return self._settle(state, inner, stepped, self.published(released))[0]

    def outcome_of(self, releases: Releases) -> Integers:
        """The number inside, or the value where there is nothing else to a release."""
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.outcome_of(releases)
        return releases.values

    def published(self, outcomes: Integers) -> Releases:
        """The release inside that has this number."""
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.published(outcomes)
        return Releases(outcomes)

    @property
    def lasting(self) -> tuple[str, ...]:
        """What counts after the end: the ledger, and what is repeated."""
        return () if self.window is not None else ("spent", _LAST, _EXHAUSTED)

    def exhausted(self, state: State) -> NDArray[np.bool_]:
        """Rows that could not pay once; with a window none is exhausted for good."""
        if self.window is not None:
            return np.zeros(len(state[_LAST]), dtype=bool)
        return state[_EXHAUSTED]

    def level(self, state: State) -> Integers:
        """Tenths of the total that are spent, rounded down; with a window there is no end."""
        if self.window is not None:
            return np.zeros(len(state[_LAST]), dtype=np.int64)
        tenths = np.minimum(state["spent"] // -(-self._total_units // 10), 10)
        return np.where(self.exhausted(state), AT_THE_END, tenths)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """A total per stream; with a window, the promise per release and the accounting rule.

        What is charged is the headline. A stream that spent E in it is 2 E-private without a model.
        """
        inner = self.mechanism.guarantees()
        if self.window is not None:
            return tuple(
                replace(guarantee, composition=self._rule(guarantee)) for guarantee in inner
            )
        if not inner[0].sound:
            return inner
        charged = inner[0].notion
        return tuple(
            replace(
                guarantee.of_releases(self._releases),
                epsilon=in_nats(self._total_units) * (1 if guarantee.notion == charged else 2),
                per="stream",
                composition="this is the sum over all releases of one stream, enforced by budget",
            )
            for guarantee in inner
        )

    def _rule(self, guarantee: Guarantee) -> str:
        """Return how the releases of a window add up."""
        delta = guarantee.of_releases(self._releases).total_delta
        return (
            f"any {self.window} consecutive records of a stream spend at most {self.total:g} nats"
            + (f" with a delta of {delta:.3g}" if delta > 0.0 else "")
            + ", which limits the rate and not the sum: everything spent over a stream's life "
            "still adds up"
        )

    @property
    def _releases(self) -> int | None:
        """Return how many releases the total pays for, if they all cost the same."""
        alike = isinstance(self.mechanism, IndependentReleases)
        return self._total_units // self.mechanism.largest_charge if alike else None

    def audit(self) -> Mapping[str, object]:
        """The inner audit and the budget."""
        return {
            **self.mechanism.audit(),
            "budget in nats": self.total,
            "budget window in records": self.window,
            "releases that the budget always pays for": (
                self._total_units // self.mechanism.largest_charge
            ),
        }

    def law_digest(self) -> bytes:
        """Changes with the mechanism inside and with the budget."""
        return self.law_digest_of(self.implementation, self.mechanism.law_digest())

    def law_digest_of(self, implementation: int, inside: bytes) -> bytes:
        """Return the digest of this budget over a mechanism with this implementation and law."""
        content = encode_fields(
            "budgeted",
            implementation,
            inside,
            self._total_units,
            self.window or 0,
            self.when_exhausted,
        )
        return blake2b(content, digest_size=32).digest()

    @cached_property
    def _total_units(self) -> int:
        return ceil(Fraction(self.total) * UNITS_PER_NAT * (1 + _ROUNDING))

    @property
    def _enumerable(self) -> EnumerableMechanism:
        assert isinstance(self.mechanism, EnumerableMechanism)
        return self.mechanism

    def _inner(self, state: State) -> State:
        return {name: state[name] for name in self.mechanism.start(0)}

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
        shown = kinds != Kind.SUPPRESSED
        after[_LAST] = chosen(shown, {_LAST: values}, state)[_LAST]
        if self.window is None:
            after[_EXHAUSTED] = ~allowed
        else:
            charge = after["spent"] - inner["spent"]
            window = np.concatenate([state[_WINDOW], charge[:, None]], axis=1)
            after[_WINDOW] = np.ascontiguousarray(window[:, 1:])
        return after, Releases(values, annotations, kinds)

    def _allowed(self, state: State, inner: State) -> Array:
        """Which rows can pay for the next release; the dry run is made for the others only."""
        counted = self._counted(state)
        ended = self.exhausted(state)
        allowed: Array = (counted + self.mechanism.largest_charge <= self._total_units) & ~ended
        unsure = np.flatnonzero(~allowed & ~ended)
        if len(unsure):
            charge = self.mechanism.next_charge(taken(inner, unsure))
            allowed[unsure] = counted[unsure] + charge <= self._total_units
        return allowed

    def _counted(self, state: State) -> Integers:
        if self.window is None:
            return state["spent"]
        counted = np.zeros(len(state["spent"]), dtype=np.int64)
        for column in range(self.window - 1):
            counted = counted + state[_WINDOW][:, column]
        return counted

    def _skip(self, inner: State, instead: Array) -> tuple[State, Releases]:
        skipped, releases = self.mechanism.skip(inner, instead)
        if self.window is not None:
            return skipped, releases
        ended = {**self.mechanism.start(len(instead)), "spent": inner["spent"].copy()}
        silent = {name: np.full_like(note, np.nan) for name, note in releases.annotations.items()}
        return ended, Releases(releases.values, silent)

    def _instead(self, state: State) -> Array:
        if self.when_exhausted == "constant":
            return self._constants(len(state[_LAST]))
        return state[_LAST].copy()

    def _constants(self, rows: int) -> Array:
        return np.repeat(np.asarray(self.mechanism.constant)[None], rows, axis=0)


def without_budget(mechanism: Mechanism) -> Mechanism:
    """The mechanism inside, where there is a budget."""
    return mechanism.mechanism if isinstance(mechanism, Budgeted) else mechanism
