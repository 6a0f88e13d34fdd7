"""Read releases, and say how likely each was, wherever its law can be written down.

The law of a release given the truth, times the belief about the truth before it, is the probability
of the release under the model. A check adds up how far releases depart from it (`model_check`).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.operators.budget import without_budget
from fugu.operators.columns import taken
from fugu.operators.estimates.difference_reader import DifferenceReader, surprises_of
from fugu.operators.estimates.share_estimators import (
    BatchReader,
    DecisionReader,
    PosteriorReader,
    share_reader,
)
from fugu.operators.estimates.share_reader import ShareReader, aligned
from fugu.operators.mechanism import (
    EnumerableMechanism,
    Floats,
    Kind,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

_LARGEST = 64
"""Tables of laws have as many columns, and half as many rows or more, for each stream."""


@runtime_checkable
class Believing(EnumerableMechanism, Protocol):
    """Release by a belief, which its state holds, under a model that is declared."""

    model: Chain


@dataclass(frozen=True)
class CheckedPosteriorReader(PosteriorReader):
    """Estimate by posteriors, and predict each fresh release."""

    @property
    def outcomes(self) -> int:
        return _outcomes_of(self.mechanism)

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return the surprise of fresh releases, too; see `PredictingReader`."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        expected = _expected(self.mechanism, taken(state, fresh))
        found = surprises_of(expected, releases.values[fresh].astype(np.int64))
        after, told = self.read(state, releases)
        surprises, variances = (aligned(fresh, one) for one in found)
        return after, told, surprises, variances


@dataclass(frozen=True)
class CheckedDecisionReader(DecisionReader):
    """Estimate by posteriors of releases and decisions to repeat, and predict both."""

    @property
    def outcomes(self) -> int:
        return _outcomes_of(self.mechanism)

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return the surprise of what was paid for, too; see `PredictingReader`."""
        outcomes = self.mechanism.outcome_of(releases)
        paid = np.ones(len(outcomes), bool) if self.budget is None else self.budget.pays(state)
        inner = {name: state[name][paid] for name in self.mechanism.start(0)}
        found = surprises_of(_expected(self.mechanism, inner), outcomes[paid])
        after, told = self.read(state, releases)
        surprises, variances = (aligned(paid, one) for one in found)
        return after, told, surprises, variances


@dataclass(frozen=True)
class CheckedBatchReader(BatchReader):
    """Estimate by posteriors of lists, and predict each of their symbols by those before it."""

    @property
    def outcomes(self) -> int:
        return self.mechanism.model.symbols

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return the surprise of each symbol of a list, too; see `PredictingReader`."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        lists = releases.values[fresh]
        observed, posterior, expected = self.mechanism.observe_and_predict(
            taken(state, fresh), lists
        )
        surprises, variances = surprises_of(expected[:, : lists.shape[1]], lists)
        after = self.moved_on(state, releases, observed)
        told = aligned(fresh, posterior)
        return after, told, aligned(fresh, surprises), aligned(fresh, variances)


def checked_reader(mechanism: Mechanism) -> ShareReader | None:
    """Return the reader that leans on the model as little as it can, and predicts releases where
    their law is small enough; None where releases are no symbols."""
    inner = without_budget(mechanism)
    if type(inner) is ConditionalRandomizedResponse:
        return DifferenceReader(inner)
    reader = share_reader(mechanism)
    if isinstance(reader, BatchReader) and reader.mechanism.model.symbols <= _LARGEST:
        return CheckedBatchReader(reader.mechanism)
    if not isinstance(inner, Believing) or inner.outcomes[1] > _LARGEST:
        return reader
    match reader:
        case PosteriorReader(mechanism=observable):
            return CheckedPosteriorReader(observable)
        case DecisionReader(mechanism=adaptive, budget=budget):
            return CheckedDecisionReader(adaptive, budget)
    return reader


def _outcomes_of(mechanism: object) -> int:
    assert isinstance(mechanism, Believing)
    return mechanism.outcomes[1]


def _expected(mechanism: object, state: State) -> Floats:
    """Return the probability of each outcome of the next release, `(rows, outcomes)`."""
    assert isinstance(mechanism, Believing)
    belief = mechanism.model.marginal(np.ascontiguousarray(state["belief"].T))
    law = mechanism.release_law(state)
    expected = np.zeros((law.shape[0], law.shape[2]))
    for truth, share in enumerate(belief):
        expected += share[:, None] * law[:, truth]
    return expected
