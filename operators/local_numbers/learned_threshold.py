"""Numbers in the local model, cut off at a threshold that the first reports tell: ToPL."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.operators.byte_fields import binding_digest
from fugu.operators.guarantee import Guarantee, local_privacy
from fugu.operators.local_numbers.hybrid import HybridMechanism
from fugu.operators.local_numbers.square_wave import BINS, SquareWave
from fugu.operators.mechanism import Draws, Floats, Inputs, Kind, Releases, State
from fugu.operators.points import RANGE, Point
from fugu.operators.randomness import unit_interval

_PROOF = Point(
    "proof-of-topl",
    "every number is reported once, by the square wave or by the hybrid mechanism, whose laws are "
    "continuous; what is drawn with doubles is for simulations",
)


@dataclass(frozen=True)
class LearnedThreshold:
    """Report numbers by a narrow range that the first of them have told: a rival, run offline.

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
