from typing import Literal

from fugu.dataflows.kinds.families.ranges import NoisyNumberOperator
from fugu.operators.noise.staircase_release import StaircaseRelease


class StaircaseOperator(NoisyNumberOperator):
    """Add staircase noise to each number: the smallest mean error of all noises at its epsilon."""

    order = 201
    mechanism_class = StaircaseRelease

    kind: Literal["staircase"]
