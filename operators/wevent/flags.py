"""Who says that correlation exists: public schedules, public matrices, or earlier releases.

A flag decides how large the noise is, which everybody sees. It is therefore never computed from
true data, but by a provider that knows ticks, public parameters and releases only:

- `Schedule`: a pattern that is repeated tick by tick; by default never.
- `Markov`: always, if the Dobrushin coefficient of a public transition matrix reaches a threshold;
  1 says that a tick is a function of the one before, 0 that it is independent of it.
- `Released`: if the Pearson correlation of the last two published vectors reaches a threshold. It
  says how stable the totals are, and not how predictable a person is.

>>> dobrushin([[0.9, 0.1], [0.1, 0.9]])
0.8

Source: PBA specification, section 2.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from operator import sub
from typing import Protocol

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.declared import take_whole_numbers
from fugu.operators.mechanism import Integers, State
from fugu.operators.wevent.allocation import Booleans

_ROW_SUM = 1e-9
"""How far the sum of a row may be from 1."""


class Flags(Protocol):
    """A provider; its columns are part of the state of the strategy."""

    def start(self, rows: int, bins: int) -> State:
        """Its columns before the first tick."""
        ...

    def now(self, state: State) -> Booleans:
        """The flag of the next tick of each row."""
        ...

    def after(self, state: State, rows: Integers, released: Integers) -> State:
        """Its columns after `rows` published what `released (len(rows), bins)` says."""
        ...

    def identity(self) -> bytes:
        """Of its parameters."""
        ...


@dataclass(frozen=True)
class Schedule:
    """The flags of ticks 1, 2, ..., from the beginning again after the last."""

    pattern: tuple[bool, ...] = (False,)

    def __post_init__(self) -> None:
        if not self.pattern:
            raise ValueError("pattern: must have at least one flag")

    def start(self, rows: int, bins: int) -> State:
        """Ticks are counted by the rule."""
        return {}

    def now(self, state: State) -> Booleans:
        """By the number of the tick."""
        flags: Booleans = np.array(self.pattern)[state["tick"] % len(self.pattern)]
        return flags

    def after(self, state: State, rows: Integers, released: Integers) -> State:
        """Nothing is learned."""
        return {}

    def identity(self) -> bytes:
        """The pattern."""
        return encode_fields("schedule", bytes(self.pattern))


NEVER = Schedule()


@dataclass(frozen=True)
class Markov:
    """A public `matrix` with P(next = j given now = i) in row i, column j."""

    matrix: tuple[tuple[float, ...], ...]
    threshold: float = 0.5
    flag: bool = field(init=False)

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        _require_share("threshold", self.threshold)
        object.__setattr__(self, "flag", dobrushin(self.matrix) >= self.threshold)

    def start(self, rows: int, bins: int) -> State:
        """Nothing is remembered."""
        return {}

    def now(self, state: State) -> Booleans:
        """The same for all."""
        return np.full(len(state["tick"]), self.flag)

    def after(self, state: State, rows: Integers, released: Integers) -> State:
        """Nothing is learned."""
        return {}

    def identity(self) -> bytes:
        """Only the answer matters."""
        return encode_fields("markov", int(self.flag))


@dataclass(frozen=True)
class Released:
    """By the correlation of the last two published vectors."""

    threshold: float

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        _require_share("threshold", self.threshold)

    def start(self, rows: int, bins: int) -> State:
        """Whether anything was published, what was last, and the flag."""
        return {
            "published": np.zeros(rows, dtype=bool),
            "previous": np.zeros((rows, bins), dtype=np.int64),
            "correlated": np.zeros(rows, dtype=bool),
        }

    def now(self, state: State) -> Booleans:
        """As of the last publication."""
        return state["correlated"].copy()

    def after(self, state: State, rows: Integers, released: Integers) -> State:
        """Correlate what was published with what was published before."""
        published, previous = state["published"].copy(), state["previous"].copy()
        correlated = state["correlated"].copy()
        for row, vector in zip(rows.tolist(), released, strict=True):
            if published[row]:
                correlated[row] = reaches(previous[row], vector, self.threshold)
            published[row] = True
            previous[row] = vector
        return {"published": published, "previous": previous, "correlated": correlated}

    def identity(self) -> bytes:
        """The threshold, exactly."""
        return encode_fields("released", self.threshold.hex())


def dobrushin(matrix: Sequence[Sequence[float]]) -> float:
    """The largest distance (total variation) between two rows of a transition matrix."""
    if not matrix or {len(row) for row in matrix} != {len(matrix)}:
        raise ValueError("matrix: must be square, and not empty")
    if not all(min(row) >= 0.0 and abs(fsum(row) - 1.0) <= _ROW_SUM for row in matrix):
        raise ValueError("matrix: every row must be probabilities that sum to 1")
    return max(fsum(map(abs, map(sub, one, other))) for one in matrix for other in matrix) / 2.0


def reaches(one: Integers, other: Integers, threshold: float) -> bool:
    """Whether the Pearson correlation of two vectors is at least `threshold`, in exact arithmetic;
    without variance it is 0."""
    x, y = one.tolist(), other.tolist()
    sum_x, sum_y, bins = sum(x), sum(y), len(x)
    covariance: int = bins * sum(a * b for a, b in zip(x, y, strict=True)) - sum_x * sum_y
    variance_x = bins * sum(a * a for a in x) - sum_x * sum_x
    variance_y = bins * sum(b * b for b in y) - sum_y * sum_y
    if covariance <= 0 or not variance_x or not variance_y:
        return False
    share = Fraction(threshold)
    return bool(covariance**2 >= share**2 * variance_x * variance_y)


def _require_share(name: str, value: float) -> None:
    if not 0.0 < value <= 1.0:
        raise ValueError(f"{name}: must be above 0 and at most 1, not {value}")
