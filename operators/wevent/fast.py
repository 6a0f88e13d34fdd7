"""FAST: a few samples, chosen by how much they surprise a filter, which smooths them.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. Ticks are cut into blocks of `window`;
a block takes at most `samples` samples, which share one half of epsilon, and a window meets at most
two blocks. When to sample, and the filter, are functions of earlier samples: they cost nothing. All
bins are sampled together, since people move between them.

In a block, a random walk with variance Q per tick, seen with noise of variance R, is filtered:
after the first sample z the estimate is z and its variance 100; a later sample adds
K (z - estimate) with K = P / (P + R), where P is the variance, grown by Q per tick. The first 5
ticks are sampled, and then every I-th, with I = 1 at first. With E the mean over bins of how far a
sample moved the estimate, relative to the estimate (at least 1), a controller sees d = 0.9 E + 0.1
(mean of the last 5 E), and changes I by trunc(5 (1 - exp((d - 0.1) / 0.1))), to at least 1. The
exponential is a table of limits for d, the same on every machine.

Parameters: those of `uniform`; `samples` per block, at first 0.075 of the window, rounded down, and
at least 1 (with 0), so that windows of up to 26 ticks have one; `contribution`, see `filtered`, in
whose squares `process_variance` Q, `measurement_variance` R and the first variance are counted. The
estimate is at least 1 of them where errors are relative to it. Input: as for `uniform`. Release:
the estimate, rounded, and repeated until the next sample. State: the filter (`estimate`,
`variance`), the controller (`errors`, `interval`), and `due`, the next tick to sample.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> fast = Fast(bins=1, window=8, epsilon=1.0, sensitivity=1, samples=3)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "fast", 1, fast.law_digest())
>>> state, published = fast.start(1), []
>>> for tick in range(10):
...     draws = scope.draws([b"zones"], [tick_position("vitals", tick)])
...     state, releases = fast.step(state, Inputs(np.array([[500]])), draws)
...     published += releases.annotations["published"].astype(int).tolist()
>>> published
[1, 1, 1, 0, 0, 0, 0, 0, 1, 1]

Source: PBA specification, section 4 (FAST, w-event form); Fan and Xiong 2014.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from math import isfinite
from typing import ClassVar

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.filtered import FilteredStrategy
from fugu.operators.wevent.strategy import require_size

SAMPLED_SHARE = 40, 3
"""3 samples in 40 ticks."""
PROPORTIONAL, INTEGRAL = 0.9, 0.1
REMEMBERED = 5
"""T_i: so many errors are averaged, and so many samples come first."""
REACTION, SETPOINT = 5, Decimal("0.1")
"""theta and xi of the controller."""
SMALLEST_VALUE, FIRST_VARIANCE = 1.0, 100.0
LARGEST_SAMPLES = 10_000
LARGEST_VARIANCE = 1e18


@dataclass(frozen=True)
class Blocks(allocation.Rule):
    """Half of the budget for each block of `window` ticks, in equal parts for its samples."""

    samples: int = 1

    decides: ClassVar[bool] = False

    def _most(self) -> int:
        """A block samples its first tick, which no window has that reaches into the next block."""
        return (2 * self.samples - 1) * self.largest

    @property
    def largest(self) -> int:
        """One sample."""
        return self.epsilon // 2 // self.samples

    def start(self, rows: int) -> State:
        """`taken`: how many samples of its block each row has; `due`: the tick of the next."""
        none = np.zeros(rows, dtype=np.int64)
        return {**super().start(rows), "taken": none, "due": none.copy()}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """A part at ticks that are due, and at the first of each block."""
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
    """FAST in blocks; see the module for claim, parameters, shapes and source."""

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
        """As configured, or by default."""
        ticks, samples = SAMPLED_SHARE
        return self.samples or min(LARGEST_SAMPLES, max(1, self.window * samples // ticks))

    def start(self, rows: int) -> State:
        """A filter that has seen nothing."""
        return {
            **super().start(rows),
            **self._fresh_filter(rows, REMEMBERED),
            "interval": np.ones(rows, dtype=np.int64),
        }

    def _filtered(self, state: State, sample: Floats) -> State:
        """The filter and the controller after a sample."""
        first = state["tick"] % self.window == 0
        elapsed = state["tick"] - state["sampled"]
        variance = state["variance"] + self.process_variance * self._squared * elapsed
        measurement = self.measurement_variance * self._squared
        gain = np.where(first, 1.0, variance / (variance + measurement))
        step = gain[:, None] * (sample - state["estimate"])
        estimate = np.where(first[:, None], sample, state["estimate"] + step)
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
            "variance": np.where(first, FIRST_VARIANCE * self._squared, (1.0 - gain) * variance),
            "sampled": state["tick"].copy(),
            "interval": interval,
            "errors": errors,
            "due": state["tick"] + interval,
        }

    def _change(self, seen: Floats) -> Integers:
        """trunc(theta (1 - exp((d - xi) / xi))), as far as it can matter."""
        longer, shorter = self._limits
        up = len(longer) - np.searchsorted(longer, seen, side="left")
        down = np.searchsorted(shorter, seen, side="right")
        return np.asarray(up - down, dtype=np.int64)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """At most which d makes the interval longer by 1, 2, ..., ascending; at least which one
        makes it shorter by 1, 2, ... than it can have become."""
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
        """How many samples a block has, too."""
        return {**super().audit(), "samples of a block": self.samples_per_block}

    def _identity(self) -> bytes:
        variances = self.process_variance.hex(), self.measurement_variance.hex()
        return encode_fields(self.samples_per_block, *variances, self.contribution)


def _mean(columns: Floats) -> Floats:
    """Of each row, added up from left to right."""
    total: Floats = np.cumsum(columns, axis=1)[:, -1] / columns.shape[1]
    return total
