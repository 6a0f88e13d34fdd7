"""RescueDP: the w-event strategy whose controller says when to sample, and publishes estimates."""

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, charge_of_ratio
from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans, Offer, pushed
from fugu.operators.wevent.fast import INTEGRAL, PROPORTIONAL, FilteredStrategy, row_sums

SHARE_BITS = 18
"""A share times 20 nats fits 64 bits."""
PER_LOGARITHM = 5
LARGEST_SHARE = (3 << SHARE_BITS) // 5
LARGEST_PART = 5
"""p = ln(I + 1) / 5, at most 3 / 5, and no sample spends more than a fifth of epsilon."""
REMEMBERED = 3
"""So many errors are averaged (pi)."""
REACTION = 10.0
"""theta of the controller."""
ONE_TICK = 2**20
FARTHEST = 2.0**60
"""No interval is longer, in parts of a tick."""
COMING_AND_GOING = 10.0
"""Q in D^2, where none is declared."""
LARGEST_VARIANCE = 1e18


@dataclass(frozen=True)
class Shares(allocation.Rule):
    """Offer a share of what the window has left, which grows with the interval between samples."""

    decides: ClassVar[bool] = False

    def _most(self) -> int:
        """Return what a window is charged if every tick takes the largest share."""
        rest = self.epsilon
        for _ in range(self.window):
            rest -= min((rest * LARGEST_SHARE) >> SHARE_BITS, self.largest)
        return self.epsilon - rest

    @property
    def largest(self) -> int:
        return self.epsilon // LARGEST_PART

    def start(self, rows: int) -> State:
        """Return also `due`, the tick of the next sample, and `interval`: I, in 2^-20 ticks."""
        return {
            **super().start(rows),
            "due": np.zeros(rows, dtype=np.int64),
            "interval": np.full(rows, ONE_TICK, dtype=np.int64),
        }

    def offer(self, state: State, flags: Booleans) -> Offer:
        logarithm = charge_of_ratio(state["interval"] / ONE_TICK + 1.0)
        share = np.minimum(
            logarithm // (PER_LOGARITHM * (UNITS_PER_NAT >> SHARE_BITS)), LARGEST_SHARE
        )
        rest = self.epsilon - state["recent"].sum(axis=1)
        part = np.minimum((share * rest) >> SHARE_BITS, self.largest)
        return self._offer(np.where(state["tick"] >= state["due"], part, 0))

    def next_most(self, state: State, charge: Integers) -> Integers:
        """Return what a sample of the tick after this charge can be offered at most."""
        rest = self.epsilon - pushed(state["recent"], charge).sum(axis=1)
        return np.asarray(np.minimum(rest, self.largest), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RescueDp(FilteredStrategy):
    """Publish what a filter makes of samples that one controller takes of all bins.

    Claim. As for `Uniform`: a sample costs at most 0.6 of what the last window - 1 ticks left of
    epsilon. When to sample, how much to spend, and the filter are functions of earlier samples:
    they are post-processing.

    Correction. RescueDP runs one schedule per region, each with all of epsilon. That holds while
    nobody changes region within a window; whoever does is charged by every region, up to
    window * epsilon / 5. Here all bins of a row share schedule and budget, since people move
    between them, and each bin has a filter. With one bin this is the mechanism of published code,
    as far as it is private. Small regions are not merged.

    The first tick is sampled. With interval I (at first 1), and with rest the part of epsilon that
    the last window - 1 ticks did not spend, a sample z spends

        min(p rest, epsilon / 5),   where p = min(0.2 ln(I + 1), 0.6)

    A random walk with variance Q per tick, seen with noise of variance R = (D window / epsilon)^2
    at the sensitivity D, is filtered: the first estimate is z and its variance 100; a later sample
    adds K (z - estimate) with K = P / (P + R), where P is the variance, grown by Q per tick. With E
    the mean over bins of how far the sample moved the estimate, d = 0.9 E + 0.1 (mean of the last
    3 E), and e what the next tick can spend at most, the lesser of its rest and epsilon / 5, the
    controller adds 10 (1 - (d e / D)^2) to I, which stays at least 1. The next sample is due after
    I ticks, rounded down; where less than a grid step is left for it, the first tick samples that
    has more. Of published codes streamdp-benchmark has all these numbers; where it has one region,
    it limits e as it is done here, and where it has many, e is the whole rest, as in
    DynamicWEventCode, whose theta is 2, phi and p_max are 0.5, and whose I is rounded down. K_d is
    0: there is no term for how fast E changes. I is counted in 2^-20 ticks and p in 2^-18, and the
    logarithm is that of `budget_units`: the same budgets on every machine.

    Parameters: those of `Strategy`; `contribution`, see `FilteredStrategy`, in whose squares the
    first variance is counted; `process_variance` Q, in squared units, at first 10 D^2 (with 0), as
    if ten people came or went in a tick. It must be public: the variance of the true figures, which
    published code takes, would tell about them. The error is least where Q is close to the variance
    of what a figure changes by in a tick. Input and errors: as for `Strategy`. Release: the
    estimate, rounded, and repeated until the next sample. State: the filter (`estimate`,
    `variance`), the controller (`errors`, `samples`, `interval`), and `due`, the next tick to
    sample.

    >>> from fugu.operators.single_stream import released
    >>> rescue = RescueDp(bins=1, window=8, epsilon=1.0, sensitivity=1)
    >>> ticks = released(rescue, [[500]] * 4)
    >>> [float(tick.annotations["publication_epsilon"][0].round(3)) for tick in ticks]
    [0.139, 0.119, 0.0, 0.0]

    Source: Swellfish specification, section 6 (RescueDP); Wang et al. 2018.
    """

    process_variance: float = 0.0

    kind: ClassVar[str] = "rescue_dp"
    implementation: ClassVar[int] = 2
    rule_class: ClassVar[type[allocation.Rule]] = Shares
    claim: ClassVar[str] = (
        "a window spends less than epsilon: a sample spends at most 0.6 of what the window has left"
    )
    proof: ClassVar[str] = "Swellfish specification, section 6 (RescueDP); post-processing"

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.process_variance
        if not isfinite(value) or not 0.0 <= value <= LARGEST_VARIANCE:
            raise ValueError(f"process_variance: must be from 0 to 1e18, not {value}")

    def start(self, rows: int) -> State:
        return {
            **super().start(rows),
            **self._fresh_filter(rows, REMEMBERED),
            "samples": np.zeros(rows, dtype=np.int64),
        }

    def _filtered(self, state: State, sample: Floats) -> State:
        first = state["samples"] == 0
        estimate, variance = self._kalman(state, sample, first, self.process, self.measurement)
        error = np.where(first, 0.0, row_sums(np.abs(estimate - state["estimate"])) / self.bins)
        errors = np.concatenate([state["errors"][:, 1:], error[:, None]], axis=1)
        interval = np.where(first, ONE_TICK, self._interval(state, errors))
        return {
            "estimate": estimate,
            "variance": variance,
            "sampled": state["tick"].copy(),
            "samples": state["samples"] + 1,
            "errors": errors,
            "interval": interval,
            "due": state["tick"] + interval // ONE_TICK,
        }

    def _interval(self, state: State, errors: Floats) -> Integers:
        """Return I after these errors, of which the last one is new."""
        averaged = np.clip(state["samples"], 1, REMEMBERED)
        seen = PROPORTIONAL * errors[:, -1] + INTEGRAL * (row_sums(errors) / averaged)
        charge = self.rule.offer(state, np.zeros(len(errors), dtype=bool)).publication
        assert isinstance(self.rule, Shares)
        per_unit = self.rule.next_most(state, charge) / UNITS_PER_NAT / self.sensitivity
        surprise = seen * per_unit
        change = np.rint(ONE_TICK * (REACTION * (1.0 - surprise * surprise)))
        longer = state["interval"] + np.maximum(change, -FARTHEST).astype(np.int64)
        return np.asarray(np.maximum(longer, ONE_TICK), dtype=np.int64)

    @property
    def process(self) -> float:
        """Return Q, in squared units."""
        return self.process_variance or COMING_AND_GOING * float(self.sensitivity**2)

    @property
    def measurement(self) -> float:
        """Return R, in squared units."""
        deviation = self.sensitivity * self.window / self.epsilon
        return deviation * deviation

    def _identity(self) -> bytes:
        return encode_fields(self.process.hex(), self.contribution)
