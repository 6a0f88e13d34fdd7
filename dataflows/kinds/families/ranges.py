"""Share what operators over numbers of a declared range have in common."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Self

import numpy as np
from pydantic import model_validator

from fugu.dataflows.base.section import Exact, Section
from fugu.dataflows.kinds.families.section import OperatorSection
from fugu.dataflows.records.codec import Values
from fugu.dataflows.records.numbers import Numbers
from fugu.operators.mechanism import Array


class RangeSection(Section):
    """Declare a range of numbers, in whole units."""

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
