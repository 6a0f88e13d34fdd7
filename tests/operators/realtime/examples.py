"""Releases of whole series, configured to be tried and tested on."""

from math import nan

import numpy as np

from fugu.operators.noise.number_release import LARGEST_UNITS_PER_ONE
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.wevent.examples import COUNTS


def real_time(kind: type[RealTimeRelease]) -> tuple[Example, ...]:
    return (
        Example(kind(3, 1, 2, epsilon=5.0, delta=1e-7, horizon=1000), COUNTS),
        Example(kind(3, 1, 1, epsilon=20.0, delta=1e-6, horizon=7, weight=0.3), COUNTS),
        Example(kind(1, 10**6, 1, 0.1, 1e-9, period=5), 10**7 * COUNTS[:, :1]),
        Example(kind(2, 3, 2, 1.0, 1e-7, decay=0.5, presentation="integer"), COUNTS[:, 1:]),
        Example(
            kind(2, 1, 1, 8.0, 1e-5, horizon=5, weight=1.0, presentation="non_negative"),
            COUNTS[:, 1:] - 200,
        ),
        Example(kind(1, 1, 1, 9.0, 1e-5, decay=0.9, weight=0.5), COUNTS[:, :1]),
        Example(kind(3, 1, 2, 5.0, 1e-7, horizon=7, shares=(1.0, 0.25, 2.0)), COUNTS),
        Example(kind(3, 1, 2, 5.0, 1e-7, personal_cap=PersonalCap(2, 7)), COUNTS),
        Example(kind(3, 1, 2, 5.0, 1e-7, horizon=7, weights=(1.0, 0.25, 0.5)), COUNTS),
        Example(
            kind(2, 1, 1, 5.0, 1e-7, period=4, history=((3.0, 4.0, 9.5), (7.0, 7.0, 7.0))),
            COUNTS[:, 1:],
        ),
    )


def local(kind: type[LocalRealTimeRelease]) -> tuple[Example, ...]:
    tenths = kind(0, 1000, epsilon=5.0, delta=1e-6, horizon=7, units_per_one=10)
    far = 2**44
    return (
        Example(tenths, np.array([0, 250, 725, 1000, 4000])),
        Example(kind(-1, 1, 1.0, 1e-7, period=3, weight=0.3), np.array([-1, 0, 1])),
        Example(kind(-far, 0, 9.0, 1e-9, decay=0.9), np.array([-far, -3, 0])),
        Example(kind(0, 1, 8.0, 1e-5, horizon=5, weight=1.0, presentation="integer"), np.arange(2)),
    )


EXAMPLES: Examples = {RealTimeRelease: real_time, LocalRealTimeRelease: local}

_SERIES = {
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "delta": (0.0, 1.0, -0.1, nan),
    "horizon": (0, -1, 10**7 + 1),
    "period": (0, -1, 10**7 + 1),
    "decay": (0.0, 1.0, -0.5, nan),
    "weight": (0.0, 1.1, -0.5, nan),
    "tick_milliseconds": (0, -1),
}
UNUSABLE: Unusable = {
    RealTimeRelease: {
        "bins": (0, -1, 2**17 + 1),
        "sensitivity": (0, -1, 2**44 + 1),
        "changed_bins": (0, -1, 4),
        **_SERIES,
    },
    LocalRealTimeRelease: {
        "lower": (2**45, -(2**44) - 1),
        "upper": (-(2**45), 2**44 + 1),
        "units_per_one": (0, -1, LARGEST_UNITS_PER_ONE + 1),
        **_SERIES,
    },
}
