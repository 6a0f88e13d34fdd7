"""Let test modules declare the kinds of mechanisms that they configure; see `kinds`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from fugu.operators.mechanism import Array, Mechanism

EPSILONS = (0.0, -1.0, nan, inf)
"""No epsilon is one of these."""


@dataclass(frozen=True)
class Example:
    """Hold a configured mechanism and a few input values that it accepts (first axis = value)."""

    mechanism: Mechanism
    accepted: Array


Examples = Mapping[type[Any], Callable[[type[Any]], tuple[Example, ...]]]
"""For every mechanism, a function that configures a few of it, no two with the same law."""

Unusable = Mapping[type[Any], Mapping[str, tuple[float, ...]]]
"""For every number that configures a mechanism, values that no example may be given instead."""
