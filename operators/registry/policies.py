"""Strategies of Swellfish privacy, configured to be tried and tested on."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import inf, nan
from typing import Any

import numpy as np

from operators.registry.example import EPSILONS, Example, Kind
from operators.swellfish.occurrence import Occurrence
from operators.swellfish.relevance import Interval, Relevance
from operators.swellfish.strategy import PolicyStrategy
from operators.swellfish.tinar_sample import TINARSample
from operators.swellfish.tinar_uniform import TINARUniform
from operators.swellfish.ts_budget_absorption import TSBudgetAbsorption
from operators.swellfish.ts_budget_distribution import TSBudgetDistribution
from operators.swellfish.ts_sample import TSSample
from operators.swellfish.ts_uniform import TSUniform
from operators.swellfish.unicorn import Unicorn
from operators.swellfish.unicorn_is import UnicornIS
from operators.swellfish.unicorn_ps import UnicornPS
from operators.swellfish.window_strategy import WindowStrategy


@dataclass(frozen=True)
class _Listed:
    """A timeline of a few occurrences of one collection, which does not change."""

    occurrences: tuple[Occurrence, ...]
    largest_sensitivity: int
    tick_milliseconds: int = 3_600_000

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        open_ones = [one for one in self.occurrences if one.start <= tick <= one.end]
        change = sum(one.change_at(tick) for one in open_ones)
        intervals = sorted({(one.start, one.end) for one in open_ones})
        return Relevance(
            min(change, self.largest_sensitivity),
            tuple(Interval(start, end, self._affected(start, end)) for start, end in intervals),
        )

    def _affected(self, start: int, end: int) -> int:
        affected = sum(one.affected_in(start, end) for one in self.occurrences)
        return min(end - start + 1, affected)

    def changed(self, changes: bytes, change: bytes, now: int) -> bytes:
        raise ValueError("change: these policies stay as they are")

    def explained(self, changes: bytes, change: bytes, now: int) -> str:
        return self.changed(changes, change, now).hex()

    def digest(self) -> bytes:
        return blake2b(repr(self).encode(), digest_size=32).digest()


HOUSEHOLD = _Listed(
    (Occurrence(1, 2, (100,)), Occurrence(2, 5, (220, 220)), Occurrence(7, 9, (50,))),
    largest_sensitivity=2757,
)
"""Three things that somebody would not have known, of which the first two overlap at tick 2."""

_BUSY = _Listed(
    (Occurrence(0, 3, (2, 1)), Occurrence(2, 6, (1,)), Occurrence(8, 30, (0, 1, 2))),
    largest_sensitivity=3,
)
_COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])


def _examples(kind: type[PolicyStrategy[Any]]) -> tuple[Example, ...]:
    more = {"window": 8} if issubclass(kind, WindowStrategy) else {}

    def configured(timeline: _Listed, bins: int, epsilon: float, irrelevant: Any) -> Example:
        mechanism = kind(timeline, bins, epsilon, irrelevant=irrelevant, **more)
        return Example(mechanism, _COUNTS[:, :bins])

    return (
        configured(_BUSY, 3, 1.0, "repeat"),
        configured(_BUSY, 3, 1.0, "exact"),
        configured(_BUSY, 2, 20.0, 0.5),
        configured(HOUSEHOLD, 1, 0.1, "repeat"),
    )


KINDS: Mapping[str, Kind] = {
    "tinar_sample": Kind(TINARSample, _examples),
    "tinar_uniform": Kind(TINARUniform, _examples),
    "ts_budget_absorption": Kind(TSBudgetAbsorption, _examples),
    "ts_budget_distribution": Kind(TSBudgetDistribution, _examples),
    "ts_sample": Kind(TSSample, _examples),
    "ts_uniform": Kind(TSUniform, _examples),
    "unicorn": Kind(Unicorn, _examples),
    "unicorn_is": Kind(UnicornIS, _examples),
    "unicorn_ps": Kind(UnicornPS, _examples),
}

_UNUSABLE = {
    "bins": (0, -1, 2**17 + 1),
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "irrelevant": (0.0, -1.0, nan, inf, 20.1, 1e-20),
}
_UNUSABLE_WINDOW = {**_UNUSABLE, "window": (0, -1, 10**5 + 1)}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    TINARSample: _UNUSABLE,
    TINARUniform: _UNUSABLE,
    TSBudgetAbsorption: _UNUSABLE_WINDOW,
    TSBudgetDistribution: _UNUSABLE_WINDOW,
    TSSample: _UNUSABLE_WINDOW,
    TSUniform: _UNUSABLE_WINDOW,
    Unicorn: _UNUSABLE,
    UnicornIS: _UNUSABLE,
    UnicornPS: _UNUSABLE,
}
