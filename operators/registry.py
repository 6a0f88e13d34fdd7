"""Every kind of mechanism by its name, with small configured examples to try and to test it on.

One line here brings a new mechanism under the conformance suite, and another one says which values
its parameters must refuse.

>>> sorted(KINDS)
['batched_crr', 'crr', 'laplace', 'paper_crr']
>>> example = KINDS["crr"].examples()[0]
>>> example.mechanism.start(2)["spent"].tolist(), example.accepted.tolist()
([0, 0], [0, 1])
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from operators.budget import Budgeted
from operators.laplace_release import LaplaceRelease
from operators.mechanism import Array, Mechanism
from operators.sip.batched_release import BatchedRelease
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.distances import Ordered, Points
from operators.sip.markov_model import MarkovModel
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse


@dataclass(frozen=True)
class Example:
    """A configured mechanism, and a few input values that it accepts (first axis = value)."""

    mechanism: Mechanism
    accepted: Array


@dataclass(frozen=True)
class Kind:
    """A class of mechanisms, and how to configure a few of it, no two with the same law."""

    mechanism: type[Any]
    configure: Callable[[type[Any]], tuple[Example, ...]]

    def examples(self) -> tuple[Example, ...]:
        """Freshly configured each time."""
        return self.configure(self.mechanism)


def _sticky() -> MarkovModel:
    return MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)


def _markov_examples(kind: Callable[[MarkovModel, float], Mechanism]) -> tuple[Example, ...]:
    sticky = _sticky()
    cycle = MarkovModel.smoothed([0.7, 0.2, 0.1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0.2)
    only = MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)
    configured = [(sticky, 1.0), (sticky, 0.25), (cycle, 1.0), (cycle, 30.0), (only, 1.0)]
    return tuple(
        Example(kind(model, epsilon), np.arange(model.symbols)) for model, epsilon in configured
    )


def _crr_examples(kind: type[ConditionalRandomizedResponse]) -> tuple[Example, ...]:
    examples = _markov_examples(kind)
    walk = MarkovModel.smoothed([0.3, 0.3, 0.2, 0.1, 0.1], 0.8 * np.eye(5) + 0.04, 0.05)
    corners = Points(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [4.0, 4.0], [5.0, 4.0]]))
    kernels = [
        kind(walk, 0.8, mode="full_support"),
        kind(walk, 0.8, Ordered()),
        kind(walk, 2.0, corners),
        kind(walk, 0.8, Ordered(), kernel="linear_program"),
    ]
    mechanism = kind(_sticky(), epsilon=1.0)
    budgets = [Budgeted(mechanism, total=4.0), Budgeted(mechanism, total=2.5, window=4)]
    return (
        *examples,
        *(Example(budgeted, np.arange(2)) for budgeted in budgets),
        *(Example(configured, np.arange(5)) for configured in kernels),
    )


def _batched_examples(kind: type[BatchedRelease]) -> tuple[Example, ...]:
    sticky, only = _sticky(), MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)
    walk = MarkovModel.smoothed([0.3, 0.3, 0.2, 0.1, 0.1], 0.8 * np.eye(5) + 0.04, 0.05)
    threes = kind(sticky, 3, 3.0, kernel="heuristic")
    two = np.arange(2)
    return (
        Example(kind(sticky, 2, 2.0), two),
        Example(threes, two),
        Example(kind(sticky, 1, 1.0, kernel="heuristic"), two),
        Example(kind(only, 2, 1.0), np.arange(1)),
        Example(kind(walk, 6, 12.0, kernel="heuristic"), np.arange(5)),
        Example(Budgeted(threes, total=6.0), two),
        Example(Budgeted(threes, total=3.5, window=5, when_exhausted="suppress"), two),
    )


def _laplace_examples(kind: type[LaplaceRelease]) -> tuple[Example, ...]:
    tenths = kind(lower=0, upper=1000, epsilon=1.0, units_per_one=10)
    sign = kind(lower=-1, upper=1, epsilon=0.1)
    wide = kind(lower=-(2**55), upper=2**55, epsilon=2.5)
    return (
        Example(tenths, np.array([0, 250, 725, 1000])),
        Example(sign, np.array([-1, 1, 7])),
        Example(wide, np.array([-(2**55), -3, 2**55 - 1])),
    )


KINDS: Mapping[str, Kind] = {
    "batched_crr": Kind(BatchedRelease, _batched_examples),
    "crr": Kind(ConditionalRandomizedResponse, _crr_examples),
    "laplace": Kind(LaplaceRelease, _laplace_examples),
    "paper_crr": Kind(PaperConditionalRandomizedResponse, _markov_examples),
}

_EPSILONS = (0.0, -1.0, nan, inf)

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    BatchedRelease: {"window": (0, -1, 33), "epsilon_per_batch": (*_EPSILONS, 50.1)},
    Budgeted: {"total": (0.0, -1.0, nan, inf, 1e30), "window": (0, -1)},
    ConditionalRandomizedResponse: {"epsilon": (*_EPSILONS, 50.1)},
    LaplaceRelease: {
        "lower": (2**60, -(2**62)),
        "upper": (-(2**60), 2**62),
        "epsilon": (*_EPSILONS, 20.1, 1e-8),
        "units_per_one": (0, -1, 10**12 + 1),
    },
    PaperConditionalRandomizedResponse: {"epsilon": (*_EPSILONS, 50.1)},
}
"""For every number that configures a mechanism, values that no example may be given instead."""
