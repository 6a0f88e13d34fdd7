"""The contract between a privacy mechanism and everything around it.

A mechanism is a frozen configuration and a pure step `(state, inputs, draws) -> (state, releases)`
that advances many independent streams by one position each; the first axis of every array is the
stream (the *row*). It never sees Kafka, a clock, a file or a source of randomness of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fugu.operators.guarantee import Guarantee

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

State = dict[str, Array]
"""Named columns, first axis = row: fixed-width dtypes, or object columns whose cells are bytes or
None, so that a state is bytes."""


@dataclass(frozen=True)
class Inputs:
    """Hold one position of each of several distinct streams.

    `values` holds what the mechanism's domain asks for: symbol indices `(rows,)`, fixed-point
    numbers `(rows,)`, integer vectors `(rows, coordinates)`, or payloads `(rows,)`, objects that
    are bytes or None.
    """

    values: Array


class Kind(IntEnum):
    """Name the kinds of releases."""

    FRESH = 0
    """It was drawn for this position."""
    REPEATED = 1
    """An earlier one again, or a constant: the budget did not allow a fresh one, and it says
    nothing new about this position; or the mechanism decided so, which does say something."""
    SUPPRESSED = 2
    """Nothing is published for this position."""
    STOPPED = 3
    """The budget is exhausted and the pipeline is to stop."""


@dataclass(frozen=True)
class Releases:
    """Hold releases row by row: the value, public annotations about it, and its `Kind`.

    Annotations and kinds depend on releases and public parameters only, never on the private input.
    Without `kinds` every release is fresh.
    """

    values: Array
    annotations: Mapping[str, Array] = field(default_factory=dict)
    kinds: Integers | None = None


class Draws(Protocol):
    """Provide randomness for one `step`: words that are a function of who asks for what."""

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return uniform 64-bit words, shape `(rows, coordinates, count)`.

        `purpose` separates draws of one step; `binding` holds, per row, a digest of the exact data
        that the draw is applied to (`fugu.operators.randomness.binding_digest`).
        """


@dataclass(frozen=True)
class Run:
    """Hold the results of several positions of several streams; see `RunningMechanism`.

    `ledger` holds, position by position, the columns that levels are made of
    (`ExhaustibleMechanism`), as they were after it. What is not `paid` for was not released.
    """

    state: State
    releases: Releases
    ledger: State
    paid: NDArray[np.bool_]


@runtime_checkable
class Mechanism(Protocol):
    """Turn private inputs into releases; a frozen dataclass that computes each table once.

    `kind` is its name in pipeline files; `implementation` goes up when the same configuration
    begins to give other releases.
    """

    @property
    def kind(self) -> str:
        """Return the name in pipeline files."""

    @property
    def implementation(self) -> int:
        """Return the version of the implementation."""

    def start(self, rows: int) -> State:
        """Return the state of `rows` streams that have released nothing yet."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Advance every row by one position; `state` is not modified."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the promises; the first is the headline, the others are weaker or broader."""

    def audit(self) -> Mapping[str, object]:
        """Return exact numbers about the configured law, for people who check."""

    def law_digest(self) -> bytes:
        """Return 32 bytes that change with the configured law and its implementation."""


class ChargingMechanism(Mechanism, Protocol):
    """Release at a charge that is known before the draw.

    Its state has a column `spent`, in units of 2^-40 nat.
    """

    @property
    def largest_charge(self) -> int:
        """Return the most units that a release costs."""

    @property
    def constant(self) -> int | float | Array:
        """Return a public value of the shape of one release, which may be published for free."""

    def next_charge(self, state: State) -> Integers:
        """Return the most units that the next release of each row will cost, whatever it is."""

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Move on by one position without a release; `instead` is published for free."""


AT_THE_END = 11
"""The level of a stream that releases nothing fresh any more."""


@runtime_checkable
class ExhaustibleMechanism(Protocol):
    """Bring streams to an end, after which they never change again."""

    @property
    def lasting(self) -> tuple[str, ...]:
        """Return the columns that matter after the end; all others are as at the start."""

    def exhausted(self, state: State) -> NDArray[np.bool_]:
        """Return which rows have come to their end."""

    def level(self, state: State) -> Integers:
        """Return the tenths of its budget that each row has spent; `AT_THE_END` at its end."""


@runtime_checkable
class RunningMechanism(Protocol):
    """Advance streams by several positions each in one call.

    It can if `runs`. Whoever uses it saves the rounds of `step` that one hot key asks for.
    """

    @property
    def runs(self) -> bool:
        """Return whether `run` is one call indeed, as configured and on this machine."""

    def run(self, state: State, rows: Integers, inputs: Inputs, draws: Draws) -> Run:
        """Return what rounds of `step` give, bit for bit. Position i is one of row `rows[i]`, those
        of one row are in order, and `inputs` and `draws` have an entry for each. `state` has every
        row once, and is not modified."""


@runtime_checkable
class ChargingRunningMechanism(ChargingMechanism, RunningMechanism, Protocol):
    """Run until the budget of a row ends."""

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        """Run, with `total`, until a row ends for good: at the first position whose `next_charge`
        would take its `spent` above `total`. From there on its positions are not paid for."""


@runtime_checkable
class TimedMechanism(Protocol):
    """Take the time between two positions of a stream into account.

    It does if `tick_milliseconds` is not None. Then whoever advances a stream, or reads its
    releases, calls `elapse` before each position.
    """

    @property
    def tick_milliseconds(self) -> int | None:
        """Return the length of a tick in event time; None: time does not matter."""

    def elapse(self, state: State, ticks: Integers) -> State:
        """Bring every row to the tick of its next position, which is the whole number of ticks
        from 1970 to its event time; `state` is not modified. Times are public."""


@runtime_checkable
class FiniteMechanism(Protocol):
    """Measure so many values and no more; what is released after them says nothing new."""

    def left(self, state: State) -> Integers | None:
        """Return how many values of each row may still be measured, at most; None: no end is
        known. Releases and public parameters alone decide it."""


@runtime_checkable
class HoldingMechanism(Protocol):
    """Hold positions back until enough of them can be released together.

    Its state has a column `releases`: how many of them a stream has released.
    """

    def holding(self, state: State) -> NDArray[np.bool_]:
        """Return which rows hold something back."""

    def finish(self, state: State, draws: Draws) -> tuple[State, Releases]:
        """Release what is held back of streams that have come to an end; `state` is not modified.
        No position of `draws` is one that `step` was called with. A stream may go on later."""


@runtime_checkable
class ChangeableMechanism(Protocol):
    """Change public rules while streams run."""

    def after_change(self, state: State, change: bytes) -> State:
        """Return every row after a change that its next position, or a later one, is the first to
        know of. `state` is not modified. Where the change is impossible, no rule is changed."""

    def explained(self, state: State, change: bytes) -> str:
        """Explain the effect of `after_change` in words: rules are public. Raises `ValueError`
        where the change is impossible."""

    def settled(self, state: State) -> int:
        """Return the last tick for which rules must stay what they were: it is released, or budgets
        have been shared out up to it."""


@runtime_checkable
class PlanningMechanism(TimedMechanism, Protocol):
    """Prepare for coming positions by a plan, which is made from public numbers alone.

    A plan may differ between machines. Whoever runs the mechanism remembers it as an input, and
    tells it again at the same position of a replay; without one, streams go on all the same.
    """

    def plan(self, state: State) -> bytes | None:
        """Return a plan for the next positions, where all rows are alike; None: they have one."""

    def after_plan(self, state: State, plan: bytes) -> State:
        """Return every row with the plan, unless it comes too late. `state` is not modified. Raises
        `ValueError` where it is none."""


@runtime_checkable
class EnumerableMechanism(Mechanism, Protocol):
    """Take and release indices that are few enough to write the law down.

    Audits follow every sequence of releases with it (`operators.auditing.enumeration`) and compare
    it with what `step` draws (`fugu.operators.auditing.step_check`).
    """

    @property
    def outcomes(self) -> tuple[int, int]:
        """Return the numbers of inputs and of releases; `(0, 0)` where they are not finite."""

    def release_law(self, state: State) -> Floats:
        """Return P(release given input) of the next position, `(rows, inputs, releases)`."""

    def follow(self, state: State, released: Integers) -> State:
        """Return the state after these releases: what `step` returns when it draws them."""


@runtime_checkable
class RepeatingMechanism(EnumerableMechanism, Protocol):
    """Decide by itself to repeat, so that a release is a value *and* a kind."""

    def outcome_of(self, releases: Releases) -> Integers:
        """Return the number of each release in `release_law`."""

    def published(self, outcomes: Integers) -> Releases:
        """Return the values and kinds of releases with these numbers."""
