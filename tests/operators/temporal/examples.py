"""Mechanisms of payloads that are displaced in time, configured to be tried and tested on."""

from math import inf, nan
from typing import Any

import numpy as np

from fugu.operators.temporal.random_delays import (
    BackwardPerturbation,
    ForwardPerturbation,
    RandomLag,
)
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.conformance.example import EPSILONS, Example, Examples, Unusable

PAYLOADS = np.array([b"72", None, b"", b'{"rate":72,"zone":"light"}'], dtype=object)


def _examples(*mechanisms: TemporalPerturbation) -> tuple[Example, ...]:
    return tuple(Example(one, PAYLOADS) for one in mechanisms)


def lags(kind: type[RandomLag], **options: Any) -> tuple[Example, ...]:
    return _examples(
        kind(k=2, epsilon=1.0, **options),
        kind(k=10, epsilon=4.0, **options),
        kind(k=4, epsilon=2.0, warm_up="emit", **options),
    )


def forward(kind: type[ForwardPerturbation]) -> tuple[Example, ...]:
    visible = kind(k=5, epsilon=4.0, warm_up="emit")
    return (*lags(kind, calibrate="nominal"), Example(visible, PAYLOADS))


def threshold(kind: type[ThresholdPerturbation]) -> tuple[Example, ...]:
    return _examples(
        kind(k=3, c0=2),
        kind.for_budget(k=5, epsilon=3.0),
        kind(k=5, c0=3, warm_up="emit"),
        kind(k=6, c0=2, start_mode="cold", warm_up="emit"),
    )


def extended(kind: type[ExtendedThresholdPerturbation]) -> tuple[Example, ...]:
    return _examples(
        kind.for_budget(k=5, epsilon=1.0),
        kind(k=4, c0=2, acceptance=0.5, warm_up="emit"),
        kind(k=4, c0=3, acceptance=1.0),
        kind(k=6, c0=4, acceptance=0.25, start_mode="cold", warm_up="emit"),
    )


EXAMPLES: Examples = {
    BackwardPerturbation: lags,
    ExtendedThresholdPerturbation: extended,
    ForwardPerturbation: forward,
    ThresholdPerturbation: threshold,
}

_LAG = {"k": (0, 1, -1, 2.5, 1001), "epsilon": (*EPSILONS, 50.1, 1e-20)}
_THRESHOLD = {"k": (0, 2, -1, 3.5, 1001), "c0": (0, 1, -1, 1000), "epsilon": EPSILONS}
UNUSABLE: Unusable = {
    BackwardPerturbation: _LAG,
    ForwardPerturbation: _LAG,
    ThresholdPerturbation: _THRESHOLD,
    ExtendedThresholdPerturbation: {
        **_THRESHOLD,
        "acceptance": (0.0, -1.0, 1.1, nan, inf, 1e-20),
    },
}
