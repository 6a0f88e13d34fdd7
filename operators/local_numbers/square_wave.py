"""The square wave mechanism: reports of which the law of many numbers is estimated."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1

import numpy as np

from fugu.operators.mechanism import Floats, Integers

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
