"""Mechanisms of payloads that are displaced in time, configured to be tried and tested on."""

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np

from fugu.operators.registry.example import EPSILONS, Example, Kind
from fugu.operators.temporal.backward import BackwardPerturbation
from fugu.operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from fugu.operators.temporal.forward import ForwardPerturbation
from fugu.operators.temporal.random_lag import RandomLag
from fugu.operators.temporal.threshold import ThresholdPerturbation

_PAYLOADS = np.array([b"72", None, b"", b'{"rate":72,"zone":"light"}'], dtype=object)


def _lag_examples(kind: type[RandomLag], **options: Any) -> tuple[Example, ...]:
    mechanisms = [
        kind(k=2, epsilon=1.0, **options),
        kind(k=10, epsilon=4.0, **options),
        kind(k=4, epsilon=2.0, warm_up="emit", **options),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


def _forward_examples(kind: type[ForwardPerturbation]) -> tuple[Example, ...]:
    visible = kind(k=5, epsilon=4.0, warm_up="emit")
    return (*_lag_examples(kind, calibrate="nominal"), Example(visible, _PAYLOADS))


def _threshold_examples(kind: type[ThresholdPerturbation]) -> tuple[Example, ...]:
    mechanisms = [
        kind(k=3, c0=2),
        kind.for_budget(k=5, epsilon=3.0),
        kind(k=5, c0=3, warm_up="emit"),
        kind(k=6, c0=2, start_mode="cold", warm_up="emit"),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


def _extended_examples(kind: type[ExtendedThresholdPerturbation]) -> tuple[Example, ...]:
    mechanisms = [
        kind.for_budget(k=5, epsilon=1.0),
        kind(k=4, c0=2, acceptance=0.5, warm_up="emit"),
        kind(k=4, c0=3, acceptance=1.0),
        kind(k=6, c0=4, acceptance=0.25, start_mode="cold", warm_up="emit"),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


KINDS: Mapping[str, Kind] = {
    "backward_perturbation": Kind(BackwardPerturbation, _lag_examples),
    "extended_threshold_perturbation": Kind(ExtendedThresholdPerturbation, _extended_examples),
    "forward_perturbation": Kind(ForwardPerturbation, _forward_examples),
    "threshold_perturbation": Kind(ThresholdPerturbation, _threshold_examples),
}


_UNUSABLE_LAG = {"k": (0, 1, -1, 2.5, 1001), "epsilon": (*EPSILONS, 50.1, 1e-20)}


_UNUSABLE_THRESHOLD = {"k": (0, 2, -1, 3.5, 1001), "c0": (0, 1, -1, 1000), "epsilon": EPSILONS}


UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    BackwardPerturbation: _UNUSABLE_LAG,
    ForwardPerturbation: _UNUSABLE_LAG,
    ThresholdPerturbation: _UNUSABLE_THRESHOLD,
    ExtendedThresholdPerturbation: {
        **_UNUSABLE_THRESHOLD,
        "acceptance": (0.0, -1.0, 1.1, nan, inf, 1e-20),
    },
}
