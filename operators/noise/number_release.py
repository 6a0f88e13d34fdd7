"""Release one number per record with noise, whatever the law of the noise is."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import RANGE, Guarantee, Point, local_privacy
from fugu.operators.mechanism import Array, Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.multi_step import IndependentReleases
from fugu.operators.noise.grid import Grid, counted
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.whole_numbers import take_whole_numbers

LARGEST_UNITS_PER_ONE = 10**12


class NumberNoise(Protocol):
    """Add noise to numbers of a range, one of which may be replaced by any other one."""

    @property
    def grid(self) -> Grid:
        """Return the public grid of the range."""
        ...

    @property
    def charge(self) -> int:
        """Return the cost of a release in units of 2^-40 nat."""
        ...

    @property
    def standard_deviation(self) -> float:
        """Return the deviation of the noise in units."""
        ...

    @property
    def finite_precision_delta(self) -> float:
        """Return the delta per release of sampling in finite precision."""
        ...

    def add(self, values: Array, draws: Draws) -> Integers:
        """Return noisy points for values in units."""
        ...

    def value(self, points: Integers, units_per_one: int) -> Floats:
        """Return the numbers that noisy points stand for."""
        ...


@dataclass(frozen=True, eq=False)
class NumberRelease(IndependentReleases):
    """Release one clamped number per record with noise on an exact grid: the local model.

    A law of noise is a subclass. Input: integers `(rows,)` that count units; those outside the
    declared range are clamped to it. Release: doubles `(rows,)`, unbounded and unbiased for the
    clamped value. State: `spent (rows,)`.

    Raises `ValueError` for an empty range, an epsilon or `units_per_one` out of bounds, and, in
    `step`, for values that are not integers.
    """

    lower: int
    upper: int
    epsilon: float
    units_per_one: int = 1
    noise: NumberNoise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if self.lower >= self.upper:
            raise ValueError(f"lower: must be below upper, which is {self.upper}")
        if not 1 <= self.units_per_one <= LARGEST_UNITS_PER_ONE:
            raise ValueError(f"units_per_one: must be 1 to 10^12, not {self.units_per_one}")
        object.__setattr__(self, "noise", self._noise_for(self.upper - self.lower))

    @abstractmethod
    def _noise_for(self, width: int) -> NumberNoise:
        """Return the noise that hides any change within the range, which is so wide."""

    @abstractmethod
    def _law(self) -> int | str:
        """Return what tells the law from others over the same range."""

    @abstractmethod
    def distribution(self, noise: Floats) -> Floats:
        """Return the probability, as declared, that the noise in units is at most so large; steps
        of the grid are too fine to show in it."""

    def law_digest(self) -> bytes:
        declared = self.lower, self.upper, self.units_per_one
        return binding_digest(self.kind, self.implementation, *declared, self._law())

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        clamped = np.clip(counted(inputs.values), self.lower, self.upper)
        points = self.noise.add(clamped, draws)
        return self._spent_after(state), Releases(self.noise.value(points, self.units_per_one))

    @property
    def largest_charge(self) -> int:
        return self.noise.charge

    @property
    def constant(self) -> float:
        return (self.lower + self.upper) / (2 * self.units_per_one)

    @property
    def standard_deviation(self) -> float:
        """Return the deviation of the noise in what is published; its mean is 0."""
        return self.noise.standard_deviation / self.units_per_one

    def _promised(self, proof: str) -> tuple[Guarantee, ...]:
        promised = local_privacy(
            self.epsilon,
            "number",
            own=RANGE,
            proof=Point(f"proof-of-{self.kind}", proof),
            finite_precision_delta=self.noise.finite_precision_delta,
        )
        return (promised,)


@dataclass(frozen=True, eq=False)
class LaplaceRelease(NumberRelease):
    """Release one clamped number per record with Laplace noise: the baseline of the local model.

    Claim. Every release is epsilon-LDP: no output is more than e^epsilon times as likely under one
    true value as under another, for any prior and any correlation, up to the delta of sampling in
    finite precision. Releases of one stream add up.

    Parameters: `lower` and `upper`, the declared range as integers in fixed-point units; `epsilon`
    in nats, at most 20; `units_per_one`, how many units make 1 in what is published.
    Shapes and errors are those of `NumberRelease`. A release costs epsilon, rounded down to
    the resolution of the sampler.

    >>> release = LaplaceRelease(lower=400, upper=2000, epsilon=1.0, units_per_one=10)
    >>> release.constant, round(release.standard_deviation, 1), release.largest_charge == 2**40
    (120.0, 226.3, True)

    Source: noise specification, sections 1 to 3, with the width of the range as the sensitivity.
    """

    noise: LaplaceNoise = field(init=False, repr=False)

    kind: ClassVar[str] = "laplace"
    implementation: ClassVar[int] = 1

    def _noise_for(self, width: int) -> LaplaceNoise:
        return LaplaceNoise(width, self.epsilon, self.lower, self.upper)

    def guarantees(self) -> tuple[Guarantee, ...]:
        [promised] = self._promised("noise specification, sections 2 and 3 (grid and sampler)")
        return (replace(promised, loss=self.noise.loss),)

    def audit(self) -> Mapping[str, object]:
        step = self.noise.grid.step / self.units_per_one
        return {
            "grid step": str(step),
            "sensitivity in grid steps": self.noise.index_sensitivity,
            "scale of the noise": float(self.noise.scale / self.units_per_one),
            "standard deviation of the noise": self.standard_deviation,
            "charge per release in nats": in_nats(self.noise.charge),
            "delta per release of finite precision": self.noise.finite_precision_delta,
            "warning": self.noise.warning,
        }

    def distribution(self, noise: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(noise) * self.epsilon / (self.upper - self.lower))
        return np.where(noise < 0.0, tail, 1.0 - tail)

    def _law(self) -> int:
        return self.noise.index_sensitivity
