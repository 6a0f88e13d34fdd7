"""Say what a reader of releases is, which estimates shares from each of them."""

from math import nan
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers, Releases, State
from fugu.operators.responses.frequency_estimates import ReportingLaw


class ShareReader(Protocol):
    """Estimate shares from one release of each of several distinct streams at a time."""

    def start(self, rows: int) -> State:
        """Return the state of `rows` streams before their first release."""

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Return one estimate per release: `(symbols,)`, or `(records, symbols)` where a release is
        a list; NaN where it says nothing new. `kinds` must be set."""


@runtime_checkable
class PredictingReader(Protocol):
    """Say how likely each release was before it came, too."""

    @property
    def outcomes(self) -> int:
        """Return how many different releases there are; of a list, how many different symbols."""

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return state and estimates as `read` does, then `(rows, outcomes)` of indicators of what
        was released minus their probabilities under the model, and of their variances; NaN where
        nothing was drawn. Where a release is a list they are `(rows, records, outcomes)`, each
        given the symbols before it in the list, too."""


@runtime_checkable
class Observable(Protocol):
    """Release values that give posterior probabilities of the truth."""

    def start(self, rows: int) -> State: ...

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]: ...

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]: ...


@runtime_checkable
class SymbolReporter(ReportingLaw, Protocol):
    """Report each of `symbols` as a `ReportingLaw` says."""

    @property
    def symbols(self) -> int: ...


def aligned(told: Array, estimates: Floats) -> Floats:
    """Return one row per release, NaN where it said nothing."""
    aligned = np.full((len(told), *estimates.shape[1:]), nan)
    aligned[told] = estimates
    return aligned
