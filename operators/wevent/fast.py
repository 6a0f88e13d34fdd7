"""Filter figures between the ticks that are sampled (FAST), and sample where errors are large."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cached_property
from math import isfinite
from typing import ClassVar

import numpy as np

from fugu.operators.columns import encode_fields, put, taken
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import LARGEST_VALUE, Booleans, Offer, require_size
from fugu.operators.wevent.strategy import Strategy

PROPORTIONAL, INTEGRAL = 0.9, 0.1
FIRST_VARIANCE = 100.0


@dataclass(frozen=True, eq=False)
class FilteredStrategy(Strategy, ABC):
    """Publish what a Kalman filter makes of noisy samples, and not the samples.

    Its constants are about counts of people. Where contributions are sums, variances are counted in
    squared `contribution`s, the most that one person contributes to a tick, in units: figures that
    are counted in other units are filtered alike.

    State: `estimate` of the filter, its `variance`, the tick that was `sampled` last, and the
    `errors` that the controller remembers. Where nothing is sampled, they stay as they are.
    """

    contribution: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("contribution", self.contribution, LARGEST_VALUE)

    def _fresh_filter(self, rows: int, remembered: int) -> State:
        """Return the columns of a filter that has seen nothing, and remembers so many errors."""
        return {
            "estimate": np.zeros((rows, self.bins)),
            "variance": np.zeros(rows),
            "sampled": np.zeros(rows, dtype=np.int64),
            "errors": np.zeros((rows, remembered)),
        }

    @property
    def _squared(self) -> float:
        return float(self.contribution) * float(self.contribution)

    @abstractmethod
    def _filtered(self, state: State, sample: Floats) -> State:
        """Return the columns of filter and controller after a sample."""

    def _kalman(
        self, state: State, sample: Floats, first: Booleans, process: float, measurement: float
    ) -> tuple[Floats, Floats]:
        """Return estimate and variance after a sample, which a `first` one replaces.

        The truth is a random walk with the variance `process` per tick, seen with noise of the
        variance `measurement`.
        """
        variance = state["variance"] + process * (state["tick"] - state["sampled"])
        gain = np.where(first, 1.0, variance / (variance + measurement))
        step = gain[:, None] * (sample - state["estimate"])
        estimate = np.where(first[:, None], sample, state["estimate"] + step)
        return estimate, np.where(first, FIRST_VARIANCE * self._squared, (1.0 - gain) * variance)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        after = self._filtered(taken(state, rows), noisy.astype(np.float64))
        columns = {name: state[name].copy() for name in after}
        put(columns, rows, after)
        return np.rint(after["estimate"]).astype(np.int64), columns


def row_sums(columns: Floats) -> Floats:
    """Add up each row, from left to right."""
    return np.asarray(np.cumsum(columns, axis=1)[:, -1])


SAMPLED_SHARE = 40, 3
"""3 samples in 40 ticks."""
REMEMBERED = 5
"""T_i: so many errors are averaged, and so many samples come first."""
REACTION, SETPOINT = 5, Decimal("0.1")
"""theta and xi of the controller."""
SMALLEST_VALUE = 1.0
LARGEST_SAMPLES = 10_000
LARGEST_VARIANCE = 1e18


@dataclass(frozen=True)
class Blocks(allocation.Rule):
    """Give each block of `window` ticks half of the budget, in equal parts for its samples."""

    samples: int = 1

    decides: ClassVar[bool] = False

    def _most(self) -> int:
        """Return all samples of two blocks but one: no window has the first tick of both."""
        return (2 * self.samples - 1) * self.largest

    @property
    def largest(self) -> int:
        return self.epsilon // 2 // self.samples

    def start(self, rows: int) -> State:
        """Return also `taken`, the samples of the block so far, and `due`, the tick of the next."""
        none = np.zeros(rows, dtype=np.int64)
        return {**super().start(rows), "taken": none, "due": none.copy()}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer a part at ticks that are due, and at the first of each block."""
        first = state["tick"] % self.window == 0
        due = first | ((state["tick"] == state["due"]) & (state["taken"] < self.samples))
        return self._offer(np.where(due, self.largest, 0))

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Count samples, anew in each block; the controller says when the next is due."""
        first = state["tick"] % self.window == 0
        taken = np.where(first, 0, state["taken"]) + published
        return {**super().settle(state, offer, published), "taken": taken}


@dataclass(frozen=True, eq=False)
class Fast(FilteredStrategy):
    """Publish what a filter makes of few samples, taken the more often the more they surprise it.

    Claim. As for `Uniform`. Ticks are cut into blocks of `window`; a block takes at most `samples`
    samples, which share one half of epsilon, and a window meets at most two blocks. When to sample,
    and the filter, are functions of earlier samples: they are post-processing. All bins are sampled
    together, since people move between them.

    In a block, a random walk with variance Q per tick, seen with noise of variance R, is filtered:
    after the first sample z the estimate is z and its variance 100; a later sample adds
    K (z - estimate) with K = P / (P + R), where P is the variance, grown by Q per tick. The first 5
    ticks are sampled, and then every I-th, with I = 1 at first. With E the mean over bins of how
    far a sample moved the estimate, relative to the estimate (at least 1), a controller sees
    d = 0.9 E + 0.1 (mean of the last 5 E), and changes I by trunc(5 (1 - exp((d - 0.1) / 0.1))), to
    at least 1. The exponential is a table of limits for d, the same on every machine.

    Parameters: those of `Strategy`; `samples` per block, at first 0.075 of the window, rounded
    down, and at least 1 (with 0), so that windows of up to 26 ticks have one; `contribution`, see
    `FilteredStrategy`, in whose squares `process_variance` Q, `measurement_variance` R and the
    first variance are counted. The estimate is at least 1 of them where errors are relative to it.
    Input and errors: as for `Strategy`. Release: the estimate, rounded, and repeated until the next
    sample. State: the filter (`estimate`, `variance`), the controller (`errors`, `interval`), and
    `due`, the next tick to sample.

    >>> from fugu.operators.single_stream import released
    >>> fast = Fast(bins=1, window=8, epsilon=1.0, sensitivity=1, samples=3)
    >>> ticks = released(fast, [[500]] * 10)
    >>> "".join("-x"[int(tick.annotations["published"][0])] for tick in ticks)
    'xxx-----xx'

    Source: PBA specification, section 4 (FAST, w-event form); Fan and Xiong 2014.
    """

    samples: int = 0
    process_variance: float = 1e5
    measurement_variance: float = 1e6

    kind: ClassVar[str] = "fast"
    implementation: ClassVar[int] = 2
    rule_class: ClassVar[type[allocation.Rule]] = Blocks
    claim: ClassVar[str] = (
        "a window spends at most epsilon: it meets two blocks at most, and each spends a half"
    )
    proof: ClassVar[str] = "PBA specification, section 4 (FAST, w-event form); post-processing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples != 0:
            require_size("samples", self.samples, min(self.window, LARGEST_SAMPLES))
        for name in ("process_variance", "measurement_variance"):
            value = getattr(self, name)
            if not isfinite(value) or not 0.0 < value <= LARGEST_VARIANCE:
                raise ValueError(f"{name}: must be above 0 and at most 1e18, not {value}")

    def _rule(self, epsilon: int, smallest: int) -> allocation.Rule:
        return Blocks(self.window, epsilon, smallest, self.cap, self.samples_per_block)

    @property
    def samples_per_block(self) -> int:
        """Return the samples of a block, as configured or by default."""
        ticks, samples = SAMPLED_SHARE
        return self.samples or min(LARGEST_SAMPLES, max(1, self.window * samples // ticks))

    def start(self, rows: int) -> State:
        return {
            **super().start(rows),
            **self._fresh_filter(rows, REMEMBERED),
            "interval": np.ones(rows, dtype=np.int64),
        }

    def _filtered(self, state: State, sample: Floats) -> State:
        first = state["tick"] % self.window == 0
        process = self.process_variance * self._squared
        measurement = self.measurement_variance * self._squared
        estimate, variance = self._kalman(state, sample, first, process, measurement)
        least = SMALLEST_VALUE * self.contribution
        moved = np.abs(estimate - state["estimate"]) / np.maximum(estimate, least)
        error = np.where(first, 0.0, _mean(moved))
        forgotten = np.where(first[:, None], 0.0, state["errors"])
        errors = np.concatenate([forgotten[:, 1:], error[:, None]], axis=1)
        settled = ~first & (state["taken"] >= REMEMBERED)
        change = self._change(PROPORTIONAL * error + INTEGRAL * _mean(errors))
        interval = np.where(settled, np.maximum(1, state["interval"] + change), 1)
        return {
            "estimate": estimate,
            "variance": variance,
            "sampled": state["tick"].copy(),
            "interval": interval,
            "errors": errors,
            "due": state["tick"] + interval,
        }

    def _change(self, seen: Floats) -> Integers:
        """Return trunc(theta (1 - exp((d - xi) / xi))), as far as it can matter."""
        longer, shorter = self._limits
        up = len(longer) - np.searchsorted(longer, seen, side="left")
        down = np.searchsorted(shorter, seen, side="right")
        return np.asarray(up - down, dtype=np.int64)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """Return the largest d that makes the interval longer by 1, 2, ..., ascending; and the
        smallest that makes it shorter by 1, 2, ... than it can have become."""
        with localcontext() as context:
            context.prec = 40
            longer = [
                float(SETPOINT * (1 + (1 - Decimal(j) / REACTION).ln()))
                for j in reversed(range(1, REACTION))
            ]
            shorter = [
                float(SETPOINT * (1 + (1 + Decimal(j) / REACTION).ln()))
                for j in range(1, REACTION * self.samples_per_block + 1)
            ]
        return np.array(longer), np.array(shorter)

    def audit(self) -> Mapping[str, object]:
        """Return also how many samples a block has."""
        return {**super().audit(), "samples of a block": self.samples_per_block}

    def _identity(self) -> bytes:
        variances = self.process_variance.hex(), self.measurement_variance.hex()
        return encode_fields(self.samples_per_block, *variances, self.contribution)


def _mean(columns: Floats) -> Floats:
    return np.asarray(row_sums(columns) / columns.shape[1])
