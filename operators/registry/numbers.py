"""Mechanisms of numbers, configured to be tried and tested on."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fugu.operators.budget import Budgeted
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.registry.example import EPSILONS, Example, Kind


def _laplace_examples(kind: type[LaplaceRelease]) -> tuple[Example, ...]:
    tenths = kind(lower=0, upper=1000, epsilon=1.0, units_per_one=10)
    sign = kind(lower=-1, upper=1, epsilon=0.1)
    wide = kind(lower=-(2**55), upper=2**55, epsilon=2.5)
    return (
        Example(tenths, np.array([0, 250, 725, 1000])),
        Example(sign, np.array([-1, 1, 7])),
        Example(wide, np.array([-(2**55), -3, 2**55 - 1])),
        Example(Budgeted(tenths, total=3.0), np.array([0, 725])),
    )


KINDS: Mapping[str, Kind] = {
    "laplace": Kind(LaplaceRelease, _laplace_examples),
}


UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    LaplaceRelease: {
        "lower": (2**60, -(2**62)),
        "upper": (-(2**60), 2**62),
        "epsilon": (*EPSILONS, 20.1, 1e-8),
        "units_per_one": (0, -1, 10**12 + 1),
    },
}
