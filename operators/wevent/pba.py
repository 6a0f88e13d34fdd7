"""Flag ticks that are correlated, and allot the budget of windows by these flags (PBA)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from operator import sub
from typing import ClassVar

import numpy as np

from fugu.operators.columns import encode_fields
from fugu.operators.guarantee import Point
from fugu.operators.mechanism import Integers, State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.whole_numbers import take_whole_numbers

_ROW_SUM = 1e-9
"""The largest distance of the sum of a row from 1."""


class Flags(ABC):
    """Say for each row whether its next tick is correlated with those before.

    A flag decides how large the noise is, which everybody sees. It is therefore never computed from
    true data, but from ticks, public parameters and releases only. The columns of a provider are
    part of the state of the strategy. Source: PBA specification, section 2.3.
    """

    def start(self, rows: int, bins: int) -> State:
        """Return its columns before the first tick: none, unless it learns from releases."""
        return {}

    @abstractmethod
    def now(self, state: State) -> Booleans:
        """Return the flag of the next tick of each row."""

    def after(self, state: State, rows: Integers, released: Integers) -> State:
        """Return its columns after `rows` published what `released (len(rows), bins)` says."""
        return {}

    @abstractmethod
    def identity(self) -> bytes:
        """Encode its parameters."""


@dataclass(frozen=True)
class Schedule(Flags):
    """Repeat a pattern of flags of ticks 1, 2, ..., from the beginning again after the last."""

    pattern: tuple[bool, ...] = (False,)

    def __post_init__(self) -> None:
        if not self.pattern:
            raise ValueError("pattern: must have at least one flag")

    def now(self, state: State) -> Booleans:
        return np.asarray(np.array(self.pattern)[state["tick"] % len(self.pattern)])

    def identity(self) -> bytes:
        return encode_fields("schedule", bytes(self.pattern))


NEVER = Schedule()


@dataclass(frozen=True)
class Markov(Flags):
    """Flag all ticks if the Dobrushin coefficient of a public matrix reaches the threshold.

    Row i, column j of `matrix` is P(next = j given now = i). The coefficient is 1 where a tick is a
    function of the one before, and 0 where it is independent of it.
    """

    matrix: tuple[tuple[float, ...], ...]
    threshold: float = 0.5
    flag: bool = field(init=False)

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_share("threshold", self.threshold)
        object.__setattr__(self, "flag", dobrushin(self.matrix) >= self.threshold)

    def now(self, state: State) -> Booleans:
        return np.full(len(state["tick"]), self.flag)

    def identity(self) -> bytes:
        return encode_fields("markov", int(self.flag))


@dataclass(frozen=True)
class Released(Flags):
    """Flag ticks after two published vectors whose Pearson correlation reaches the threshold.

    The correlation says how stable the totals are, and not how predictable a person is.
    """

    threshold: float

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_share("threshold", self.threshold)

    def start(self, rows: int, bins: int) -> State:
        return {
            "published": np.zeros(rows, dtype=bool),
            "previous": np.zeros((rows, bins), dtype=np.int64),
            "correlated": np.zeros(rows, dtype=bool),
        }

    def now(self, state: State) -> Booleans:
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
        return encode_fields("released", self.threshold.hex())


def dobrushin(matrix: Sequence[Sequence[float]]) -> float:
    """Return the largest distance (total variation) between two rows of a transition matrix.

    >>> dobrushin([[0.9, 0.1], [0.1, 0.9]])
    0.8
    """
    if not matrix or {len(row) for row in matrix} != {len(matrix)}:
        raise ValueError("matrix: must be square, and not empty")
    if not all(min(row) >= 0.0 and abs(fsum(row) - 1.0) <= _ROW_SUM for row in matrix):
        raise ValueError("matrix: every row must be probabilities that sum to 1")
    return max(fsum(map(abs, map(sub, one, other))) for one in matrix for other in matrix) / 2.0


def reaches(one: Integers, other: Integers, threshold: float) -> bool:
    """Compare the Pearson correlation of two vectors with `threshold`, in exact arithmetic.

    Without variance the correlation is 0.
    """
    x, y = one.tolist(), other.tolist()
    sum_x, sum_y, bins = sum(x), sum(y), len(x)
    covariance: int = bins * sum(a * b for a, b in zip(x, y, strict=True)) - sum_x * sum_y
    variance_x = bins * sum(a * a for a in x) - sum_x * sum_x
    variance_y = bins * sum(b * b for b in y) - sum_y * sum_y
    if covariance <= 0 or not variance_x or not variance_y:
        return False
    share = Fraction(threshold)
    return bool(covariance**2 >= share**2 * variance_x * variance_y)


def require_share(name: str, value: float) -> None:
    if not 0.0 < value <= 1.0:
        raise ValueError(f"{name}: must be above 0 and at most 1, not {value}")


_FLAGS = Point(
    "flags", "correlation that a flag reports: setting flags improves accuracy, not privacy"
)


@dataclass(frozen=True, eq=False)
class PrivacyBudgetAllocation(Strategy):
    """Publish when it pays: at a flagged tick as `BudgetDistribution` does, else with half of that.

    This is privacy budget allocation (PBA-DP).

    Claim. As for `Uniform`. The half that an unflagged publication leaves is not used at all. With
    all flags set, this is budget distribution. A flag says that ticks are correlated. It improves
    accuracy, not privacy: under correlation, what it adds to the budget adds to what an adversary
    learns.

    Parameters: those of `Strategy`, and `flags`, a provider from `operators.wevent.pba`. Input,
    release and errors: as for `Strategy`. State: also `shares`, and what the provider remembers.

    >>> from fugu.operators.single_stream import released
    >>> from fugu.operators.wevent.pba import Schedule
    >>> pba = PrivacyBudgetAllocation(2, 2, 1.0, 1, flags=Schedule((False, True)))
    >>> ticks = released(pba, [[500, 0], [500, 99], [500, 198], [500, 297]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.125], [0.125], [0.09375], [0.15625]]

    Source: PBA specification, section 2; Hemkumar 2021, chapter 5, corrected.
    """

    flags: Flags = NEVER

    kind: ClassVar[str] = "pba"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.PrivacyBudgetAllocation
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications one or, "
        "where flagged, two quarters of what their shares have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, section 2 (theorem)"

    def start(self, rows: int) -> State:
        return {**super().start(rows), **self.flags.start(rows, self.bins)}

    def _flags(self, state: State) -> allocation.Booleans:
        return self.flags.now(state)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        return noisy, self.flags.after(state, rows, noisy)

    def _not_covered(self) -> tuple[Point, ...]:
        return (_FLAGS,)

    def _identity(self) -> bytes:
        return self.flags.identity()
