"""Every kind of mechanism by its name, with small configured examples to try and to test it on.

One line here brings a new mechanism under the conformance suite.

>>> sorted(KINDS)
['crr', 'paper_crr']
>>> example = KINDS["crr"].examples()[0]
>>> example.mechanism.start(2)["spent"].tolist(), example.accepted.tolist()
([0, 0], [0, 1])
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from operators.budget import Budgeted
from operators.mechanism import Array, Mechanism
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
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
    mechanism = kind(_sticky(), epsilon=1.0)
    budgets = [Budgeted(mechanism, total=4.0), Budgeted(mechanism, total=2.5, window=4)]
    return (*examples, *(Example(budgeted, np.arange(2)) for budgeted in budgets))


KINDS: Mapping[str, Kind] = {
    "crr": Kind(ConditionalRandomizedResponse, _crr_examples),
    "paper_crr": Kind(PaperConditionalRandomizedResponse, _markov_examples),
}
