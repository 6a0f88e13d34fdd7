from typing import Literal

from fugu.dataflows.kinds.families.ranges import NoisyNumberOperator
from fugu.operators.noise.number_release import LaplaceRelease


class LaplaceOperator(NoisyNumberOperator):
    """Add discrete Laplace noise to each number, clamped to a declared range, on an exact grid."""

    order = 200
    mechanism_class = LaplaceRelease

    kind: Literal["laplace"]
