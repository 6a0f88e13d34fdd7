"""What a reader makes of releases of symbols, with public parameters alone: the truth's shares.

A `ShareReader` turns every fresh release into one estimate per symbol of whether it was the truth.
The mean of these estimates over many records estimates the shares of the true symbols.

>>> from operators.registry import KINDS
>>> reader = share_reader(KINDS["crr"].examples()[0].mechanism)
>>> kinds = np.array([Kind.FRESH, Kind.REPEATED])
>>> state, told = reader.read(reader.start(2), Releases(np.array([1, 1]), kinds=kinds))
>>> told.round(3).tolist()
[[0.184, 0.816]]

Source: SIP specification, sections 3 (law), 4 (posterior) and 9 (frequency estimates); Särndal,
Swensson and Wretman 1992, section 6.3 (difference estimator).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from operators.mechanism import Array, Floats, Integers, Kind, Mechanism, Releases, State
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


class ShareReader(Protocol):
    """Reads one release of each of several distinct streams at a time."""

    def start(self, rows: int) -> State:
        """What is known of `rows` streams before their first release."""
        ...

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """`(fresh releases, symbols)`; what is not fresh says nothing new. `kinds` must be set."""
        ...


@runtime_checkable
class Observable(Protocol):
    """A mechanism whose releases give posterior probabilities of the truth."""

    def start(self, rows: int) -> State: ...

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]: ...

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]: ...


@runtime_checkable
class SymbolReporter(Protocol):
    """A mechanism that reports a symbol with one probability if it is the truth, and with another
    one if it is not."""

    @property
    def symbols(self) -> int: ...

    @property
    def reported_if_true(self) -> float: ...

    @property
    def reported_if_other(self) -> float: ...


@dataclass(frozen=True)
class PosteriorReader:
    """Posteriors given all releases so far: unbiased if the model is right."""

    mechanism: Observable

    def start(self, rows: int) -> State:
        """That of the mechanism."""
        return self.mechanism.start(rows)

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Observe what is fresh, and predict past what is not."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        observed, posterior = self.mechanism.observe(
            _rows(state, fresh), releases.values[fresh].astype(np.int64)
        )
        skipped, _ = self.mechanism.skip(_rows(state, ~fresh), releases.values[~fresh])
        after = {name: np.empty_like(column) for name, column in state.items()}
        for name, column in after.items():
            column[fresh], column[~fresh] = observed[name], skipped[name]
        return after, posterior


@dataclass(frozen=True)
class DifferenceReader:
    """The belief before each release, and how far the release departs from what it made likely.

    The difference estimator of survey sampling, with the model as auxiliary information: unbiased
    for symbols that the release law keeps apart, whatever the model is. For what it does not keep
    apart at a release (`mode: optimal`, outside its support) the belief speaks alone. Posteriors
    vary less, but lean on the model everywhere.
    """

    mechanism: ConditionalRandomizedResponse

    def start(self, rows: int) -> State:
        """The prior."""
        return {"belief": np.tile(self.mechanism.model.start, (rows, 1))}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Report what is fresh, and predict past what is not."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        model, before = self.mechanism.model, np.ascontiguousarray(state["belief"].T)
        released = releases.values[fresh].astype(np.int64)
        law = self.mechanism.law(model.marginal(before[:, fresh]))
        belief = np.empty_like(before)
        belief[:, fresh] = model.advance(before[:, fresh], law.posterior(released))
        belief[:, ~fresh] = model.skip(before[:, ~fresh])
        return {"belief": np.ascontiguousarray(belief.T)}, law.report(released).T


@dataclass(frozen=True)
class CountReader:
    """(reported - q) / (p - q): unbiased whatever the truth is; no stream needs a memory."""

    law: SymbolReporter

    def start(self, rows: int) -> State:
        """Nothing."""
        return {}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """From the symbol, or the set of symbols, that each fresh release reports."""
        released = releases.values[releases.kinds == Kind.FRESH]
        if released.ndim == 1:
            released = released[:, None] == np.arange(self.law.symbols)
        p, q = self.law.reported_if_true, self.law.reported_if_other
        return state, (released - q) / (p - q)


def share_reader(mechanism: Mechanism) -> ShareReader | None:
    """How to read the releases of this mechanism (without its budget), if anybody knows."""
    if isinstance(mechanism, Observable):
        return PosteriorReader(mechanism)
    return CountReader(mechanism) if isinstance(mechanism, SymbolReporter) else None


def _rows(state: State, chosen: Array) -> State:
    return {name: column[chosen] for name, column in state.items()}
