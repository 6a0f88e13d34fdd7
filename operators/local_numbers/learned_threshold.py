"""Report numbers in the local model: square wave, hybrid mechanism, and learned threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1
from typing import ClassVar

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import RANGE, Guarantee, Point, local_privacy
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.randomness import unit_interval

BINS = 1024
_GAIN = 1e-3
"""The estimate is good enough where a step gains no more in log-likelihood."""
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class SquareWave:
    """Report a number of [0, 1] as one of [-b, 1 + b], most often one that is within b of it.

    Claim. A report has density `near` within b of the number and `far` elsewhere, and near is e^eps
    far: it is epsilon-private in the local model, for any prior. The law is continuous, and drawn
    with doubles: it is for simulations, not for a pipeline.

    >>> wave = SquareWave(1.0)
    >>> round(wave.half_width, 4), round(wave.near / wave.far, 4)
    (0.2561, 2.7183)

    Source: Li et al. 2020; SIP specification, section 9 (ToPL).
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= 50.0:
            raise ValueError("epsilon: must be above 0 and at most 50")

    @cached_property
    def half_width(self) -> float:
        """Return b, for which reports tell most."""
        epsilon, growth, gain = self.epsilon, exp(self.epsilon), expm1(self.epsilon)
        if epsilon < 1e-3:
            return 0.5 - epsilon / 3.0
        return (epsilon * growth - gain) / (2.0 * growth * (gain - epsilon))

    @property
    def far(self) -> float:
        """Return the density of reports that are further away."""
        return 1.0 / (2.0 * self.half_width * exp(self.epsilon) + 1.0)

    @property
    def near(self) -> float:
        """Return the density of reports within b."""
        return exp(self.epsilon) * self.far

    def density(self, value: float, reports: Floats) -> Floats:
        """Return the density of reports of one number."""
        b = self.half_width
        there = (reports >= -b) & (reports <= 1.0 + b)
        near = np.abs(reports - value) <= b
        return np.asarray(np.where(there, np.where(near, self.near, self.far), 0.0))

    def reports(self, values: Floats, uniforms: Floats) -> Floats:
        """Return a report of each number, from two uniform numbers each, `(2, rows)`.

        What is further away are two stretches, of lengths `value` and 1 - value.
        """
        b, place = self.half_width, uniforms[1]
        far = np.where(place < values, place - b, place + b)
        near = values + b * (2.0 * place - 1.0)
        return np.asarray(np.where(uniforms[0] < 2.0 * b * self.near, near, far))

    def shares(self, reports: Floats) -> Floats:
        """Estimate the law of the numbers in `BINS` bins, by expectation, maximisation, smoothing.

        Without smoothing between neighbours (`sws` of the authors' code, and not its `sw`) few
        reports give spikes, and all behind the first of them would be lost: shares below 1e-4 count
        as none, and so does everything after five bins in a row of which that is true, behind the
        median. What is lost is shared out among the others, all alike.
        """
        width, half = 1.0 / BINS, self.half_width * BINS
        margin = ceil(half)
        places = np.arange(-margin, BINS + margin)
        counts = np.bincount(
            np.clip(np.floor(reports * BINS).astype(np.int64) + margin, 0, len(places) - 1),
            minlength=len(places),
        )
        ends = np.clip([places, places + 1], -half, BINS + half) * width
        widths, gain = ends[1] - ends[0], (self.near - self.far) * width
        shares, before, inside = np.full(BINS, width), -np.inf, np.arange(BINS)
        for _ in range(_MOST_STEPS):
            chances = self.far * widths * shares.sum() + gain * _within(shares, 0, places, half)
            likelihood = float((counts * np.log(np.where(counts > 0, chances, 1.0))).sum())
            if abs(likelihood - before) < _GAIN:
                break
            before = likelihood
            ratio = counts / np.where(counts > 0, chances, 1.0)
            back = self.far * (widths * ratio).sum() + gain * _within(ratio, -margin, inside, half)
            shares = _smoothed(shares * back)
        return _without_tail(shares)


def _within(masses: Floats, start: int, places: Integers, half: float) -> Floats:
    """Return, for the bin around each place, how much of it is within `half` of each mass, times
    the mass, and all added up; masses are in the middle of bins `start`, `start` + 1, ....

    What is within is the difference of two running sums, and its part of a bin one of theirs.
    """
    reached = np.cumsum(masses)
    running = np.append(0.0, np.cumsum(reached))

    def up_to(place: Floats) -> Floats:
        beyond = np.maximum(place - len(masses), 0.0)
        table = np.interp(place, np.arange(len(running)), running)
        return np.asarray(table + beyond * reached[-1])

    at = (places - start).astype(np.float64)
    after = up_to(at + 0.5 + half) - up_to(at - 0.5 + half)
    return np.asarray(after - (up_to(at + 0.5 - half) - up_to(at - 0.5 - half)))


def _smoothed(shares: Floats) -> Floats:
    """Return weights mixed with half of each neighbour's, so that they sum to 1."""
    sides = np.zeros(len(shares))
    sides[1:] += shares[:-1]
    sides[:-1] += shares[1:]
    weights = np.full(len(shares), 4.0)
    weights[[0, -1]] = 3.0
    mixed = (2.0 * shares + sides) / weights
    return np.asarray(mixed / mixed.sum())


def _without_tail(shares: Floats) -> Floats:
    kept = np.where(shares < 1e-4, 0.0, shares)
    some = kept > 0.0
    if not some.any():
        return kept
    median = int(np.searchsorted(np.cumsum(kept), 0.5 * kept.sum()))
    for place in range(median, BINS - 4):
        if not some[place : place + 5].any():
            kept[place:] = 0.0
            break
    left = kept > 0.0
    return np.asarray(np.where(left, kept + (1.0 - kept.sum()) / left.sum(), 0.0))


ONE_BIT_BELOW = 0.61
"""Up to this epsilon, one bit alone errs least."""


@dataclass(frozen=True)
class HybridMechanism:
    """Report a number of [-1, 1] by the piecewise mechanism, or by one bit.

    Claim. Which of both it is does not depend on the number, and each is epsilon-private in the
    local model: so is the report, for any prior. It is unbiased; from epsilon 0.61 on its variance
    is that of `variance` for every number, below it that is the largest. The laws are continuous,
    and drawn with doubles: they are for simulations, not for a pipeline.

    >>> round(HybridMechanism(1.0).variance, 4), round(HybridMechanism(0.5).variance, 4)
    (4.289, 16.6708)

    Source: Wang et al. 2019; SIP specification, section 9 (ToPL).
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= 50.0:
            raise ValueError("epsilon: must be above 0 and at most 50")

    @cached_property
    def root(self) -> float:
        """Return E, the root of e^eps."""
        return exp(self.epsilon / 2.0)

    @cached_property
    def bit(self) -> float:
        """Return the size of a report of one bit."""
        return (exp(self.epsilon) + 1.0) / expm1(self.epsilon)

    @cached_property
    def reach(self) -> float:
        """Return C, the size of the largest piecewise report."""
        return (self.root + 1.0) / expm1(self.epsilon / 2.0)

    @property
    def piecewise(self) -> float:
        """Return how often a report is piecewise."""
        return 1.0 - 1.0 / self.root if self.epsilon >= ONE_BIT_BELOW else 0.0

    @property
    def variance(self) -> float:
        """Return the largest variance of a report."""
        if self.piecewise == 0.0:
            return self.bit**2
        root = self.root
        return (root + 3.0) / (3.0 * root * (root - 1.0)) + self.bit**2 / root

    def chance_of_up(self, values: Floats) -> Floats:
        """Return the chance that one bit is the upper one."""
        return np.asarray(0.5 + 0.5 * values / self.bit)

    def density(self, value: float, reports: Floats) -> Floats:
        """Return the density of piecewise reports of one number."""
        low, high = self._middle(np.array(value))
        inside = (reports >= low) & (reports <= high)
        near = self.root / (self.root + 1.0) / (self.reach - 1.0)
        far = np.where(np.abs(reports) <= self.reach, near / self.root**2, 0.0)
        return np.where(inside, near, far)

    def reports(self, values: Floats, uniforms: Floats) -> Floats:
        """Return a report of each number, from three uniform numbers each, `(3, rows)`."""
        kind, place, where = uniforms
        low, high = self._middle(values)
        middle = low + where * (high - low)
        outside = (self.reach + 1.0) * where
        below = low + self.reach
        outer = np.where(outside < below, outside - self.reach, high + (outside - below))
        piecewise = np.where(place < self.root / (self.root + 1.0), middle, outer)
        bits = np.where(place < self.chance_of_up(values), self.bit, -self.bit)
        return np.where(kind < self.piecewise, piecewise, bits)

    def _middle(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of where most piecewise reports are."""
        low = 0.5 * (self.reach + 1.0) * values - 0.5 * (self.reach - 1.0)
        return low, low + self.reach - 1.0


_PROOF = Point(
    "proof-of-topl",
    "every number is reported once, by the square wave or by the hybrid mechanism, whose laws are "
    "continuous; what is drawn with doubles is for simulations",
)


@dataclass(frozen=True)
class LearnedThreshold:
    """Report numbers by a narrow range that the first of them have told: a rival, run offline.

    This is the mechanism ToPL.

    Claim. Every number is reported once, with epsilon, in the local model and for any prior: the
    first `first` by the square wave, from which the server estimates their law and the threshold
    that errs least; all others, cut off at it, by the hybrid mechanism. The threshold is a function
    of reports. Laws are continuous and drawn with doubles, so no pipeline runs this.

    A row is a record, of whatever stream, in the order in which they come, and one `step` takes all
    of them. Parameters: the declared range, `lower` and `upper` in units; `epsilon` in nats;
    `units_per_one`; `first`. Release: doubles, and of the first ones none (`Kind.SUPPRESSED`).
    The mean of the others is biased by what is cut off.

    >>> topl = LearnedThreshold(0, 1000, epsilon=1.0, units_per_one=1, first=1000)
    >>> low = np.where(np.arange(BINS) < 100, 0.01, 0.0)
    >>> round(1000 * topl.threshold(low, remaining=1_000_000))
    94

    Source: Wang et al. 2021, from the authors' code; SIP specification, section 9 (ToPL), but for
    an estimate that is smoothed (`square_wave`).
    """

    lower: int
    upper: int
    epsilon: float
    units_per_one: int
    first: int

    kind: ClassVar[str] = "topl"
    implementation: ClassVar[int] = 1

    @cached_property
    def wave(self) -> SquareWave:
        """Return what reports the first numbers."""
        return SquareWave(self.epsilon)

    @cached_property
    def hybrid(self) -> HybridMechanism:
        """Return what reports all others."""
        return HybridMechanism(self.epsilon)

    def threshold(self, shares: Floats, remaining: int) -> float:
        """Return the upper end, as a share of the range, where noise and what is cut off err least.

        `shares (BINS,)` are those of numbers; so many numbers are `remaining`.
        """
        ends, middles = np.arange(1, BINS + 1) / BINS, (np.arange(BINS) + 0.5) / BINS
        mass = np.append(np.cumsum(shares[::-1])[::-1], 0.0)[1:]
        moment = np.append(np.cumsum((shares * middles)[::-1])[::-1], 0.0)[1:]
        cut_off = moment - ends * mass
        noise = remaining * self.hybrid.variance * ends**2 / 3.0
        return float(ends[np.argmin(noise + (remaining * cut_off) ** 2 / 24.0)])

    def start(self, rows: int) -> State:
        return {}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Report all records, in their order."""
        width = self.upper - self.lower
        values = np.clip((inputs.values - self.lower) / width, 0.0, 1.0)
        words = draws.words("release", [b""] * len(values), count=3)[:, 0]
        uniforms, first = np.ascontiguousarray(unit_interval(words).T), self.first
        reports = self.wave.reports(values[:first], uniforms[:2, :first])
        end = self.threshold(self.wave.shares(reports), len(values) - first)
        scaled = 2.0 * np.minimum(values[first:], end) / end - 1.0
        told = 0.5 * end * (self.hybrid.reports(scaled, uniforms[:, first:]) + 1.0)
        released = np.zeros(len(values))
        released[first:] = (self.lower + width * told) / self.units_per_one
        kinds = np.where(np.arange(len(values)) < first, Kind.SUPPRESSED, Kind.FRESH)
        return state, Releases(released, kinds=kinds)

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (local_privacy(self.epsilon, "number", own=RANGE, proof=_PROOF),)

    def audit(self) -> Mapping[str, object]:
        return {
            "half width of the square wave": self.wave.half_width,
            "variance of a report between -1 and 1": self.hybrid.variance,
        }

    def law_digest(self) -> bytes:
        declared = self.lower, self.upper, self.units_per_one, self.first
        return binding_digest(self.kind, self.implementation, *declared, self.epsilon.hex())
