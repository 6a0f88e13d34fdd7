"""Share what operators over numbers of a declared range have in common."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon, Exact, Section
from fugu.dataflows.kinds.families.section import Files, OperatorSection
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Array, Mechanism
from fugu.operators.noise.number_release import NumberRelease


class RangeSection(Section):
    """Declare a range of numbers, in whole units."""

    lower: Exact
    """The least number; smaller ones count as it."""
    upper: Exact
    """The largest number; larger ones count as it."""
    unit: Exact = Decimal(1)
    """The step between numbers: 1 divided by a whole number."""

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.unit <= 0 or Fraction(1) % Fraction(self.unit) != 0:
            raise ValueError(
                "unit: must be 1 divided by a whole number, such as 1, 0.5, 0.1 or 0.01"
            )
        if any(Fraction(bound) % Fraction(self.unit) != 0 for bound in (self.lower, self.upper)):
            raise ValueError("lower and upper must be whole numbers of unit")
        if self.lower >= self.upper:
            raise ValueError("lower must be below upper")
        return self

    @property
    def units_per_one(self) -> int:
        """Return how many units make 1."""
        return int(1 / Fraction(self.unit))

    @property
    def ends(self) -> tuple[int, int]:
        """Return both ends of the range in units."""
        unit = Fraction(self.unit)
        return int(Fraction(self.lower) / unit), int(Fraction(self.upper) / unit)


class NumberOperator(RangeSection, OperatorSection):
    """Read one number of a declared range from each record."""

    reads = frozenset({"unit"})

    def values(self, fields: Sequence[str]) -> Values:
        return Numbers(fields[0], units_per_one=self.units_per_one)

    def audit_inputs(self) -> Array:
        return np.array(self.ends)

    def parameters(self) -> dict[str, object]:
        return {
            "range": f"{self.lower} to {self.upper}; what is outside is read as the nearer end",
            "unit": str(self.unit),
        }


class NoisyNumberOperator(NumberOperator):
    """Add noise to each number, clamped to the range; a kind names its `mechanism_class`."""

    mechanism_class: ClassVar[type[NumberRelease]]
    example = "lower: 0\nupper: 250\nunit: 0.5\nepsilon: 1.0\n"
    protected = "each number of the range, for any prior, per release"

    epsilon: Annotated[Epsilon, Field(le=20)]
    """The nats that a release costs."""

    def mechanism(self, files: Files) -> Mechanism:
        return self.mechanism_class(*self.ends, float(self.epsilon), self.units_per_one)

    def estimator(self, mechanism: Mechanism) -> Mapping[str, float]:
        assert isinstance(mechanism, NumberRelease)
        return {"standard_deviation": mechanism.standard_deviation}

    def parameters(self) -> dict[str, object]:
        return {"epsilon": f"{self.epsilon:g} nats per release", **super().parameters()}

    def how_to_read(self) -> list[str]:
        return [
            "a released number is the true one, clamped to the range, plus noise with mean 0 and "
            "the standard deviation above: sums and means are unbiased, and may leave the range.",
            "the mean of n releases errs by the standard deviation divided by the root of n.",
            "clamping is not undone: a range that is too narrow biases what lies outside.",
        ]
