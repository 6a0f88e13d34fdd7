"""Operators whose values are numbers."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon, Exact, Section


class RangeSection(Section):
    """Numbers of a declared range, in whole units."""

    lower: Exact
    upper: Exact
    unit: Exact = Decimal(1)

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
        """How many units make 1."""
        return int(1 / Fraction(self.unit))

    def in_units(self, number: Decimal) -> int:
        """A bound of the range in units."""
        return int(Fraction(number) / Fraction(self.unit))


class LaplaceOperator(RangeSection):
    """One number in, clamped to a declared range, the number with noise out."""

    reads: ClassVar[frozenset[str]] = frozenset({"unit"})

    kind: Literal["laplace"]
    epsilon: Annotated[Epsilon, Field(le=20)]

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            "epsilon": f"{self.epsilon:g} nats per release",
            "range": f"{self.lower} to {self.upper}; what is outside is read as the nearer end",
            "unit": str(self.unit),
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "a released number is the true one, clamped to the range, plus noise with mean 0 and "
            "the standard deviation above: sums and means are unbiased, and may leave the range.",
            "the mean of n releases errs by the standard deviation divided by the root of n.",
            "clamping is not undone: a range that is too narrow biases what lies outside.",
        ]
