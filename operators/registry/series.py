"""Releases of whole series, configured to be tried and tested on."""

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np

from fugu.operators.noise.laplace_release import LARGEST_UNITS_PER_ONE
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.registry.example import EPSILONS, Example, Kind

_COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])


def _real_time_examples(kind: type[RealTimeRelease]) -> tuple[Example, ...]:
    return (
        Example(kind(3, 1, 2, epsilon=5.0, delta=1e-7, horizon=1000), _COUNTS),
        Example(kind(3, 1, 1, epsilon=20.0, delta=1e-6, horizon=7, weight=0.3), _COUNTS),
        Example(kind(1, 10**6, 1, 0.1, 1e-9, period=5), 10**7 * _COUNTS[:, :1]),
        Example(kind(2, 3, 2, 1.0, 1e-7, decay=0.5, presentation="integer"), _COUNTS[:, 1:]),
        Example(
            kind(2, 1, 1, 8.0, 1e-5, horizon=5, weight=1.0, presentation="non_negative"),
            _COUNTS[:, 1:] - 200,
        ),
        Example(kind(1, 1, 1, 9.0, 1e-5, decay=0.9, weight=0.5), _COUNTS[:, :1]),
        Example(kind(3, 1, 2, 5.0, 1e-7, horizon=7, shares=(1.0, 0.25, 2.0)), _COUNTS),
    )


def _local_examples(kind: type[LocalRealTimeRelease]) -> tuple[Example, ...]:
    tenths = kind(0, 1000, epsilon=5.0, delta=1e-6, horizon=7, units_per_one=10)
    far = 2**44
    return (
        Example(tenths, np.array([0, 250, 725, 1000, 4000])),
        Example(kind(-1, 1, 1.0, 1e-7, period=3, weight=0.3), np.array([-1, 0, 1])),
        Example(kind(-far, 0, 9.0, 1e-9, decay=0.9), np.array([-far, -3, 0])),
        Example(kind(0, 1, 8.0, 1e-5, horizon=5, weight=1.0, presentation="integer"), np.arange(2)),
    )


KINDS: Mapping[str, Kind] = {
    "real_time": Kind(RealTimeRelease, _real_time_examples),
    "real_time_local": Kind(LocalRealTimeRelease, _local_examples),
}


_OF_A_SERIES: Mapping[str, tuple[float, ...]] = {
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "delta": (0.0, 1.0, -0.1, nan),
    "horizon": (0, -1, 10**7 + 1),
    "period": (0, -1, 10**7 + 1),
    "decay": (0.0, 1.0, -0.5, nan),
    "weight": (0.0, 1.1, -0.5, nan),
    "tick_milliseconds": (0, -1),
}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    RealTimeRelease: {
        "bins": (0, -1, 2**17 + 1),
        "sensitivity": (0, -1, 2**44 + 1),
        "changed_bins": (0, -1, 4),
        **_OF_A_SERIES,
    },
    LocalRealTimeRelease: {
        "lower": (2**45, -(2**44) - 1),
        "upper": (-(2**45), 2**44 + 1),
        "units_per_one": (0, -1, LARGEST_UNITS_PER_ONE + 1),
        **_OF_A_SERIES,
    },
}
