"""Tell which of two errors is smaller, and where draws do not tell."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats

_SIGNIFICANT = 2.0
"""Standard errors by which a mean difference is more than chance."""


@dataclass(frozen=True)
class Difference:
    """Hold the mean difference of two errors that were measured on the same rows."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "Difference":
        """Compare row by row; rows are independent."""
        apart = np.asarray(first - second)
        return cls(float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))))

    @property
    def side(self) -> int:
        """Return -1 if the first is smaller, 1 if it is larger, and 0 if draws do not tell."""
        told = abs(self.mean) > _SIGNIFICANT * self.standard_error
        return int(np.sign(self.mean)) if told else 0


def sides_told(found: Mapping[float, Difference], first: str, second: str) -> str:
    """Say where `first` errs less than `second`, where more, and where draws do not tell.

    >>> sides_told({1.0: Difference(-3.0, 1.0), 2.0: Difference(1.0, 1.0)}, "crr", "grr")
    'crr errs less than grr at 1, and draws do not tell at 2'
    """
    words = {-1: "less than", 1: "more than"}
    parts: list[str] = []
    for side, word in words.items():
        at = [place for place, one in found.items() if one.side == side]
        if at:
            parts.append(f"{word} {second if not parts else 'it'} at {listed(at)}")
    text = f"{first} errs {' and '.join(parts)}" if parts else ""
    unknown = [place for place, one in found.items() if one.side == 0]
    if not unknown:
        return text
    if not parts:
        return f"draws do not tell {first} from {second} at {listed(unknown)}"
    return f"{text}, and draws do not tell at {listed(unknown)}"


def listed(places: list[float]) -> str:
    """Return numbers as a sentence lists them.

    >>> listed([0.5, 1.0, 3.0])
    '0.5, 1 and 3'
    """
    words = [f"{place:g}" for place in places]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
