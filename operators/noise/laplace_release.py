"""Laplace noise on one number per record."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Floats
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.noise.number_release import NumberRelease


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
