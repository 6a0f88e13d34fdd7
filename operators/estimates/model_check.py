"""Check whether what was released agrees with the model that it was released under.

Under the model, every release has a known probability given all releases of the stream before it.
So what was released minus what was expected adds up to a martingale, whose mean is exactly 0 and
whose variance is the sum of p (1 - p): whatever the mechanism did with the model, and however small
epsilon is. The check adds up these differences for each symbol, and for each symbol after each last
released one, and compares the sums with their standard errors.

Comparing two estimators is no such check: where both lean on the model, they agree about a wrong
answer.

Source: Dawid 1984 (prequential principle); Hall and Heyde 1980, theorem 3.2 (martingale central
limit theorem).
"""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from fugu.operators.mechanism import Floats, Integers

_LEAST_EXPECTED = 50.0
"""Sums of fewer expected releases are not yet normal."""
_LARGEST_BY_PREVIOUS = 64
"""For more outcomes, pairs are too many to have enough releases each."""


@dataclass(frozen=True)
class Deviation:
    """Say how often an outcome was released, and how often the model expects it."""

    outcome: int
    after: int | None
    """The outcome before, and one more than the last for the first release of a stream; None:
    whatever it was."""
    released: float
    expected: float
    z: float
    p: float
    """The chance of such a deviation where the model is right, of all sums that were looked at."""


@dataclass(frozen=True)
class ModelCheck:
    """Hold the deviations, largest first; `level` is the chance of a false alarm, at most.

    `symbols` is how many released symbols were looked at: of a list, every one. `sums` is how many
    sums of them were compared.
    """

    symbols: int
    sums: int
    level: float
    deviations: tuple[Deviation, ...]

    @property
    def alarm(self) -> bool:
        """Return whether the model does not describe what was released."""
        return bool(self.deviations) and self.deviations[0].p < self.level


class SurpriseSums:
    """Add up surprises of streams, all releases of a stream in one call."""

    def __init__(self, outcomes: int) -> None:
        groups = outcomes + 1 if outcomes <= _LARGEST_BY_PREVIOUS else 0
        self._outcomes, self._groups = outcomes, groups
        self._symbols = 0
        self._users = 0
        shape = (1 + groups, outcomes)
        self._sums, self._squares = np.zeros(shape), np.zeros(shape)
        self._variances, self._released = np.zeros(shape), np.zeros(shape)

    def add(
        self, streams: Integers, outcomes: Integers, surprises: Floats, variances: Floats
    ) -> None:
        """Add releases of whole streams, in the order of each; NaN where nothing was expected.

        Each symbol of lists `(n, records)` counts as one, with surprises `(n, records, outcomes)`.
        """
        if outcomes.ndim == 2:
            streams, outcomes = np.repeat(streams, outcomes.shape[1]), outcomes.ravel()
            surprises = surprises.reshape(-1, self._outcomes)
            variances = variances.reshape(-1, self._outcomes)
        there = ~np.isnan(surprises[:, 0])
        order = np.flatnonzero(there)[np.argsort(streams[there], kind="stable")]
        if not len(order):
            return
        stream, outcome = streams[order], outcomes[order]
        begins = np.concatenate([[True], stream[1:] != stream[:-1]])
        row = np.cumsum(begins) - 1
        before = np.where(begins, self._outcomes, np.roll(outcome, 1))
        self._symbols += len(order)
        self._users += int(row[-1]) + 1
        self._add(0, np.zeros_like(before), 1, row, outcome, surprises[order], variances[order])
        if self._groups:
            more = before, self._groups, row, outcome, surprises[order], variances[order]
            self._add(1, *more)

    def _add(
        self,
        first: int,
        group: Integers,
        groups: int,
        row: Integers,
        outcome: Integers,
        surprises: Floats,
        variances: Floats,
    ) -> None:
        cell, own = np.unique(row * groups + group, return_inverse=True)
        of = cell % groups
        for number in range(self._outcomes):
            sums = np.bincount(own, surprises[:, number])
            target = (slice(first, first + groups), number)
            self._sums[target] += np.bincount(of, sums, groups)
            self._squares[target] += np.bincount(of, sums**2, groups)
            self._variances[target] += np.bincount(group, variances[:, number], groups)
            self._released[target] += np.bincount(group[outcome == number], minlength=groups)

    def check(self, level: float = 0.01) -> ModelCheck:
        """Return what deviates. The standard error is the larger of that under the model and that
        over streams, so that neither few streams nor unlike ones make an alarm by themselves; the
        smallest p counts as often as there are sums."""
        expected = self._released - self._sums
        usable = (expected >= _LEAST_EXPECTED) & (self._variances >= _LEAST_EXPECTED / 2.0)
        over_streams = self._squares * self._users / max(1, self._users - 1)
        errors = np.sqrt(np.maximum(self._variances, over_streams))
        sums = int(usable.sum())
        found = []
        for group, outcome in np.argwhere(usable).tolist():
            z = float(self._sums[group, outcome] / errors[group, outcome])
            after = None if group == 0 else group - 1
            found.append(
                Deviation(
                    outcome,
                    after,
                    float(self._released[group, outcome]),
                    float(expected[group, outcome]),
                    z,
                    min(1.0, sums * erfc(abs(z) / sqrt(2.0))),
                )
            )
        found.sort(key=lambda one: (one.p, -abs(one.z)))
        return ModelCheck(self._symbols, sums, level, tuple(found))
