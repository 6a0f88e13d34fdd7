"""Publish running totals by factorised noise: measure mixed values, and undo the mixing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from fugu.operators.columns import copied, digest_of, where_rows
from fugu.operators.guarantee import CONTRIBUTIONS, Guarantee, Neighbours
from fugu.operators.mechanism import Array, Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.personal_cap import Booleans, PersonalCap
from fugu.operators.totals.buffers import Buffers, TotalErrors
from fugu.operators.totals.fitted import LARGEST_TICKS, fitted
from fugu.operators.totals.precision import Changes, Precision, measured_rows, total_guarantee
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
    require_epsilon_and_delta,
    require_length,
    require_size,
    vectors,
)
from fugu.operators.wevent.strategy import kinds_of
from fugu.operators.whole_numbers import take_whole_numbers

_NEVER = -(2**63)


class Measured(NamedTuple):
    """Hold the state after a tick, which rows were measured, and the noisy indices `(rows, bins)`
    of the silent ticks before it, one after the other, and of the tick itself."""

    after: State
    alive: Booleans
    indices: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class RunningTotal:
    """Publish running totals with noise of which each tick keeps little.

    Claim. Over a `horizon` of T ticks, what one person contributes to any `window` ticks in a row
    is (epsilon, delta)-DP in all releases together, finite precision included; with a window of T
    that is everything. With a `personal_cap` instead, what one person contributes to an aligned
    period of the cap is, whatever the person does in it, and periods follow each other for ever.

    A tick mixes its figure with what buffers remember of those before it, rounds the sum to a grid,
    and adds discrete Gaussian noise. Nothing else leaves. The mixing is undone in public, and the
    total is the sum. Its noise grows much slower than the root of T that noise on each tick has,
    because noise of neighbouring ticks partly cancels; for a window of T, or a cap that hardly
    caps, there is nothing to gain, and buffers are as good as none. What neighbours may differ by
    is the largest norm of the mixed contributions of one person, and roundings.

    With a cap every period has buffers and noise of its own: totals go on, and the variances of
    periods add up. After a horizon nothing is released but the last total.

    Parameters: `bins`; `sensitivity` in units, by how much one person's contribution changes a bin
    at most (with a cap: how much it amounts to, whatever its sign); `changed_bins`, how many bins
    it changes (2 if it can move between bins; a cap says it itself); `epsilon` in nats and `delta`;
    `horizon`, perhaps with a `window`, or `personal_cap`, with `tick_milliseconds`; where the cap
    keeps ticks `apart`, those that nobody was in and that are not told are measured, too, as zeros,
    because gaps count ticks. Input: integers `(rows, bins)`; of figures beyond `largest` the rest
    is cut off. Release: doubles `(rows, bins)`, the totals of all ticks so far, unbiased, with
    `standard_error (rows,)`; `block` and `position` say which tick of which period, or horizon, it
    was, so that readers know how errors go together (`totals.errors`). State: buffers, which are
    raw data, and what all readers know.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.

    >>> from fugu.operators.single_stream import released
    >>> totals = RunningTotal(1, 1, 1, epsilon=1.0, delta=1e-6, horizon=1000, window=1)
    >>> *_, last = released(totals, [[500]] * 100)
    >>> last.values.round(1).tolist(), last.annotations["standard_error"].round(1).tolist()
    ([[50003.4]], [11.8])

    Source: continual release specification, sections 2 to 4; Denisov et al. 2022; McMahan et al.
    2024.
    """

    bins: int
    sensitivity: int
    changed_bins: int
    epsilon: float
    delta: float
    horizon: int | None = None
    window: int | None = None
    personal_cap: PersonalCap | None = field(default=None, kw_only=True)
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)
    precision: Precision = field(init=False, repr=False)

    kind: ClassVar[str] = "running_total"
    implementation: ClassVar[int] = 2

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_size("changed_bins", self.changed_bins, min(2, self.bins))
        require_length(self.tick_milliseconds)
        require_epsilon_and_delta(self.epsilon, self.delta)
        object.__setattr__(self, "precision", self._precision(self._changes()))

    def _changes(self) -> Changes:
        cap = self.personal_cap
        if (cap is None) == (self.horizon is None):
            raise ValueError("horizon, personal_cap: give exactly one of them")
        if cap is None:
            assert self.horizon is not None
            require_size("horizon", self.horizon, LARGEST_TICKS)
            window = self.horizon if self.window is None else self.window
            require_size("window", window, self.horizon)
            groups = min(self.bins, self.changed_bins * window)
            return Changes(self.horizon, window, self.changed_bins, self.sensitivity, groups)
        if self.window is not None:
            raise ValueError("window: goes with a horizon, not with a cap")
        if self.tick_milliseconds is None:
            raise ValueError("tick_milliseconds: a personal_cap has periods in time; say it")
        return Changes.of_period(cap, self.sensitivity, self.bins, cap.apart)

    def _precision(self, changes: Changes) -> Precision:
        buffers = fitted(changes.ticks, changes.counted, changes.apart)
        return Precision(buffers, changes, self.epsilon, self.delta)

    @property
    def buffers(self) -> Buffers:
        """Return how values are mixed."""
        return self.precision.buffers

    @property
    def ticks(self) -> int:
        """Return how many ticks are measured at most, or how many a period has."""
        return self.precision.changes.ticks

    @property
    def bin_changes(self) -> int:
        """Return how many times its sensitivity one contribution changes a tick, over all bins."""
        return self.changed_bins if self.personal_cap is None else min(self.bins, 2)

    @property
    def largest(self) -> int:
        """Return the largest figure of a tick that is not cut off."""
        return min(LARGEST_VALUE, self.precision.largest)

    @cached_property
    def errors(self) -> TotalErrors:
        """Return what is known of the errors of totals."""
        return TotalErrors(self.buffers, self.ticks, self.precision.noise)

    @cached_property
    def _variances(self) -> Floats:
        return self.errors.variances

    def start(self, rows: int) -> State:
        """Return the state before the first tick: totals are 0."""
        remembered = (rows, self.bins, len(self.buffers))
        last = {"last": np.full(rows, _NEVER)} if self._keeps_gaps else {}
        return {
            **last,
            "buffers": np.zeros(remembered, dtype=np.int64),
            "memory": np.zeros(remembered),
            "total": np.zeros((rows, self.bins)),
            "closed": np.zeros((rows, self.bins)),
            "closed_variance": np.zeros(rows),
            "position": np.zeros(rows, dtype=np.int64),
            "tick": np.full(rows, _NEVER),
            "block": np.full(rows, _NEVER),
        }

    def elapse(self, state: State, ticks: Integers) -> State:
        """Note the tick that comes; it may begin a period of the cap."""
        if self.tick_milliseconds is None:
            return state
        return {**state, "tick": np.maximum(state["tick"], ticks)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Measure the mixed figures of a tick, and add what they stand for to the total."""
        done = self.measure(state, inputs, draws)
        notes = self._annotations(done.after, done.alive)
        return done.after, Releases(self._told(done.after), notes, kinds_of(done.alive))

    def measure(self, state: State, inputs: Inputs, draws: Draws) -> "Measured":
        """Measure the mixed figures of a tick, and before that those of silent ticks."""
        largest = self.largest
        values = np.clip(vectors(inputs.values, self.bins), -largest, largest)
        state, silent = self._in_its_period(state), list[Floats]()
        if self._keeps_gaps:
            state, silent = self._with_silence(state, draws)
        alive = state["position"] < self.ticks
        after, measured = self._after(state, values, alive, draws)
        return Measured(after, alive, (*silent, measured))

    @property
    def _keeps_gaps(self) -> bool:
        """Return whether it matters how many ticks two measurements are apart."""
        return self.personal_cap is not None and self.personal_cap.apart > 1

    def _with_silence(self, state: State, draws: Draws) -> tuple[State, list[Floats]]:
        """Measure zeros for the ticks of this period since the last one that was measured."""
        silent = np.where(state["last"] == _NEVER, 0, state["tick"] - state["last"] - 1)
        nothing = np.zeros(state["total"].shape, dtype=np.int64)
        found = []
        for number in range(1, int(silent.max(initial=0)) + 1):
            state, measured = self._after(state, nothing, silent >= number, draws, number)
            found.append(measured)
        return {**state, "last": state["tick"].copy()}, found

    def _after(
        self, state: State, values: Integers, alive: Booleans, draws: Draws, silent: int = 0
    ) -> tuple[State, Floats]:
        """Return the state once `values` of the rows that are `alive` are measured, and what was.

        `silent` numbers ticks that were not told, whose draws are those of the tick that was.
        """
        index, buffers = self.buffers.encode(state["buffers"], values, self.precision.scale)
        measured = measured_rows(self.precision, index, np.flatnonzero(alive), draws, silent)
        value, memory = self.buffers.decode(state["memory"], measured)
        changed = {"buffers": buffers, "memory": memory, "total": state["total"] + value}
        after = {
            **copied(state),
            **{name: where_rows(alive, column, state[name]) for name, column in changed.items()},
            "position": state["position"] + alive,
        }
        return after, measured

    def _in_its_period(self, state: State) -> State:
        """Return every row in the period of its tick: what was closed adds to what was before."""
        if self.personal_cap is None:
            return {**state, "block": np.zeros_like(state["block"])}
        block = np.where(state["tick"] == _NEVER, 0, state["tick"]) // self.personal_cap.ticks
        begins = block > state["block"]
        if not begins.any():
            return state
        variance = state["closed_variance"] + self._variances[state["position"]]
        fresh = self.start(len(begins))
        begun: State = {
            **fresh,
            "tick": state["tick"],
            "closed": self._told(state),
            "closed_variance": variance,
            "block": block,
        }
        return {name: where_rows(begins, begun[name], state[name]) for name in state}

    def _told(self, state: State) -> Array:
        """Return the totals of all periods, in units."""
        return np.asarray(state["closed"] + state["total"] / self.precision.steps_of_unit)

    def _annotations(self, state: State, alive: Booleans) -> State:
        variance = state["closed_variance"] + self._variances[state["position"]]
        return {
            "published": alive.copy(),
            "standard_error": np.sqrt(variance),
            "block": state["block"].copy(),
            "position": state["position"].copy(),
        }

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee of a window, of everything, or of a period."""
        return (
            total_guarantee(
                precision=self.precision,
                horizon=self.horizon,
                cap=self.personal_cap,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
            ),
        )

    @property
    def error(self) -> float:
        """Return the root mean square error of totals."""
        return float(np.sqrt(self._variances[1:].mean()))

    def audit(self) -> Mapping[str, object]:
        """Return noise and errors, and what noise of each tick by itself would do."""
        precision = self.precision
        return {
            "weights of buffers, in units of 2^-32": list(self.buffers.weights),
            "factors of buffers, in units of 2^-32": list(self.buffers.factors),
            "scale": precision.scale,
            "squared steps that neighbours differ by, at most": precision.squares,
            "wide draws": precision.wide,
            "standard deviation of a measurement": precision.noise,
            "standard error of the first total": float(np.sqrt(self._variances[1])),
            "standard error of the last total": float(np.sqrt(self._variances[-1])),
            "root mean square error of totals": self.error,
            "the same, of noise on each tick": precision.error_of_separate_noise,
            "largest figure that is not cut off": self.largest,
            "delta of finite precision, part of delta": float(precision.reserved),
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        precision = self.precision
        changes, buffers = precision.changes, precision.buffers
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            changes.ticks,
            changes.counted,
            changes.factor,
            changes.amount,
            *buffers.weights,
            *buffers.factors,
            buffers.guard_bits,
            precision.scale,
            int(precision.wide),
            b"" if self.personal_cap is None else self.personal_cap.identity(),
        )
