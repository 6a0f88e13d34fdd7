"""Laplace noise on one number per record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.byte_fields import binding_digest
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import Guarantee, local_privacy
from fugu.operators.independent_releases import IndependentReleases
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.noise.grid import counted
from fugu.operators.noise.laplace import LaplaceNoise

LARGEST_UNITS_PER_ONE = 10**12


@dataclass(frozen=True, eq=False)
class LaplaceRelease(IndependentReleases):
    """Release one clamped number per record with Laplace noise: the baseline of the local model.

    Claim. Every release is epsilon-LDP: no output is more than e^epsilon times as likely under one
    true value as under another, for any prior and any correlation, up to the delta of sampling in
    finite precision. Releases of one stream add up.

    Parameters: `lower` and `upper`, the declared range as integers in fixed-point units; `epsilon`
    in nats, at most 20; `units_per_one`, how many units make 1 in what is published.

    Input: integers `(rows,)` that count units; those outside the range are clamped to it. Release:
    doubles `(rows,)`, unbounded and unbiased for the clamped value.

    State: `spent (rows,)`.

    Raises `ValueError` for an empty range, an epsilon or `units_per_one` out of bounds, and, in
    `step`, for values that are not integers.

    >>> release = LaplaceRelease(lower=400, upper=2000, epsilon=1.0, units_per_one=10)
    >>> release.constant, round(release.standard_deviation, 1), release.largest_charge == 2**40
    (120.0, 226.3, True)

    Source: noise specification, sections 1 to 3, with the width of the range as the sensitivity.
    """

    lower: int
    upper: int
    epsilon: float
    units_per_one: int = 1
    noise: LaplaceNoise = field(init=False, repr=False)

    kind: ClassVar[str] = "laplace"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if self.lower >= self.upper:
            raise ValueError(f"lower: must be below upper, which is {self.upper}")
        if not 1 <= self.units_per_one <= LARGEST_UNITS_PER_ONE:
            raise ValueError(f"units_per_one: must be 1 to 10^12, not {self.units_per_one}")
        noise = LaplaceNoise(self.upper - self.lower, self.epsilon, self.lower, self.upper)
        object.__setattr__(self, "noise", noise)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        clamped = np.clip(counted(inputs.values), self.lower, self.upper)
        points = self.noise.add(clamped, draws)
        return self._spent_after(state), Releases(self.noise.grid.value(points, self.units_per_one))

    @property
    def largest_charge(self) -> int:
        """Return epsilon, rounded down to the resolution of the sampler."""
        return self.noise.charge

    @property
    def constant(self) -> float:
        return (self.lower + self.upper) / (2 * self.units_per_one)

    @property
    def standard_deviation(self) -> float:
        """Return the deviation of the noise in what is published; its mean is 0."""
        return self.noise.standard_deviation / self.units_per_one

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = local_privacy(
            self.epsilon,
            "number",
            "n releases of one stream have n times epsilon and delta together",
            own="the declared range, which is public",
            proof="noise specification, sections 2 and 3 (grid and sampler)",
            finite_precision_delta=self.noise.finite_precision_delta,
        )
        return (promised,)

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

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            self.lower,
            self.upper,
            self.units_per_one,
            self.noise.index_sensitivity,
        )
