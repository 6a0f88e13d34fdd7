"""Releases of whole series, configured to be tried and tested on."""

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np

from operators.realtime.real_time_release import RealTimeRelease
from operators.registry.example import EPSILONS, Example, Kind

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
    )


KINDS: Mapping[str, Kind] = {
    "real_time": Kind(RealTimeRelease, _real_time_examples),
}


UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    RealTimeRelease: {
        "bins": (0, -1, 2**17 + 1),
        "sensitivity": (0, -1, 2**44 + 1),
        "changed_bins": (0, -1, 4),
        "epsilon": (*EPSILONS, 20.1, 1e-20),
        "delta": (0.0, 1.0, -0.1, nan),
        "horizon": (0, -1, 10**7 + 1),
        "period": (0, -1, 10**7 + 1),
        "decay": (0.0, 1.0, -0.5, nan),
        "weight": (0.0, 1.1, -0.5, nan),
    },
}
