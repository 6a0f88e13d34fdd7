"""A kind of mechanism, and how a few of it are configured."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from fugu.operators.mechanism import Array, Mechanism

EPSILONS = (0.0, -1.0, nan, inf)
"""No epsilon is one of these."""


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
