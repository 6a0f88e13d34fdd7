from typing import Annotated, Literal

from pydantic import Field

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.ranges import NumberOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.mechanism import Mechanism
from fugu.operators.noise.laplace_release import LaplaceRelease


class LaplaceOperator(NumberOperator):
    """Add discrete Laplace noise to each number, clamped to a declared range, on an exact grid."""

    order = 200
    mechanism_class = LaplaceRelease
    example = "lower: 0\nupper: 250\nunit: 0.5\nepsilon: 1.0\n"
    protected = "each number of the range, for any prior, per release"

    kind: Literal["laplace"]
    epsilon: Annotated[Epsilon, Field(le=20)]

    def mechanism(self, files: Files) -> Mechanism:
        return LaplaceRelease(*self.ends, float(self.epsilon), self.units_per_one)

    def parameters(self) -> dict[str, object]:
        return {"epsilon": f"{self.epsilon:g} nats per release", **super().parameters()}

    def how_to_read(self) -> list[str]:
        return [
            "a released number is the true one, clamped to the range, plus noise with mean 0 and "
            "the standard deviation above: sums and means are unbiased, and may leave the range.",
            "the mean of n releases errs by the standard deviation divided by the root of n.",
            "clamping is not undone: a range that is too narrow biases what lies outside.",
        ]
