"""The random lag that BPM and FPM share."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, isfinite
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.responses.randomized_response import LARGEST_EPSILON, WORDS, Odds
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomLag(TemporalPerturbation):
    """Draw a lag that is 0 or, less likely, any other one of 0..k-1, all alike.

    A lag is drawn by comparing a 64-bit word with integers (`randomized_response.Odds`), so that
    its law is exact, and no lag is more than e^(epsilon / 2) times as likely as another one.
    `epsilon` is the budget; `odds` are those of lag 0 against each other one.
    """

    epsilon: float
    odds: Odds = field(init=False, repr=False)

    smallest_k: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isfinite(self.epsilon) or not 0.0 < self.epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {self.epsilon}"
            )
        object.__setattr__(self, "odds", Odds.of(self.k - 1, self._lag_epsilon / 2.0))

    @property
    @abstractmethod
    def _lag_epsilon(self) -> float:
        """Return the budget of the law of the lag."""

    @property
    def none(self) -> float:
        """Return P(lag 0), p0."""
        return self.odds.favoured / WORDS

    @property
    def each(self) -> float:
        """Return P(lag j) of every other j, p1."""
        return self.odds.each / WORDS

    def _lags(self, words: Words) -> Integers:
        favoured = np.uint64(self.odds.favoured)
        waits = words >= favoured
        beyond = np.where(waits, words - favoured, 0) // np.uint64(self.odds.each)
        return np.where(waits, beyond.astype(np.int64) + 1, 0)

    def _identity(self) -> tuple[str | int, ...]:
        return (self.odds.each,)

    def _audited(self) -> Mapping[str, object]:
        return {"eps_nominal": self.epsilon}


def lag_law(k: int, epsilon: float) -> tuple[float, float]:
    """Return P(lag 0) and P(lag j) of every other j, before rounding to whole words."""
    ratio = exp(-epsilon / 2.0)
    whole = 1.0 + (k - 1) * ratio
    return 1.0 / whole, ratio / whole
