"""Missing, repeated, empty and late values of temporal perturbation, and what they cost."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Expected:
    """Tell how many of each there are per value, and the mean delay in ticks."""

    missing: float
    repeated: float
    empty: float
    delay: float


@dataclass(frozen=True)
class Costs:
    """Price one missing, one repeated, one empty and one delayed tick.

    Raises `ValueError` naming the price.

    >>> round(Costs(missing=20, repeated=20, empty=20).of(backward(20, 0.390684, 0.0320693)), 2)
    15.66

    Source: TLDP specification, section 2; Ye et al. 2021, Table I.
    """

    missing: float = 1.0
    repeated: float = 1.0
    empty: float = 1.0
    delay: float = 1.0

    def __post_init__(self) -> None:
        for name in ("missing", "repeated", "empty"):
            if not isfinite(getattr(self, name)) or getattr(self, name) < 0.0:
                raise ValueError(f"{name}: a cost must be a number, 0 or more")
        if not isfinite(self.delay) or self.delay <= 0.0:
            raise ValueError("delay: the cost of a tick must be a number above 0")

    def of(self, expected: Expected) -> float:
        """Return the expected cost of a value."""
        return (
            expected.missing * self.missing
            + expected.repeated * self.repeated
            + expected.empty * self.empty
            + expected.delay * self.delay
        )


def backward(k: int, none: float, each: float) -> Expected:
    """Return that of BPM, whose lag is 0 with probability `none`, and each other with `each`."""
    lost, delay = _lost(k, none, each), _delay(k, none, each)
    return Expected(missing=lost, repeated=lost, empty=0.0, delay=delay)


def forward(k: int, none: float, each: float) -> Expected:
    """Return that of FPM: what is lost left an empty tick instead of a repetition."""
    lost, delay = _lost(k, none, each), _delay(k, none, each)
    return Expected(missing=lost, repeated=0.0, empty=lost, delay=delay)


def threshold(k: int, c0: int, undelayed: float, acceptance: float) -> Expected:
    """Return that of TM and ETM, where a value need not wait with probability `undelayed`."""
    lost = undelayed * (1.0 - acceptance)
    return Expected(missing=lost, repeated=0.0, empty=lost, delay=float(k - c0))


def _lost(k: int, none: float, each: float) -> float:
    return (1.0 - none) * (1.0 - each) ** (k - 1)


def _delay(k: int, none: float, each: float) -> float:
    waited = sum(j * (1.0 - each) ** (j - 1) for j in range(1, k))
    return each * (1.0 - none) * waited
