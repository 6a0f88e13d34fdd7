"""Estimate shares of the truth from releases of symbols, with public parameters alone.

A `ShareReader` turns every release that says something new into one estimate per symbol of whether
it was the truth, for each record that the release is about. The mean of these estimates over many
records estimates the shares of the true symbols.

>>> from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
>>> from fugu.operators.sip.markov_model import MarkovModel
>>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
>>> reader = share_reader(ConditionalRandomizedResponse(model, epsilon=1.0))
>>> kinds = np.array([Kind.FRESH, Kind.REPEATED])
>>> state, told = reader.read(reader.start(2), Releases(np.array([1, 1]), kinds=kinds))
>>> told.round(3).tolist()
[[0.184, 0.816], [nan, nan]]

Source: SIP specification, sections 3 (law), 4 (posterior), 6 (cold start), 8 (batches) and 9
(frequency estimates, decisions to repeat).
"""

from dataclasses import dataclass
from math import nan
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.columns import copied, put, taken
from fugu.operators.mechanism import (
    Array,
    EnumerableMechanism,
    Floats,
    Integers,
    Kind,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.responses.frequency_estimates import ReportingLaw
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import Chain
from fugu.operators.wevent_local.window_reports import WindowReports


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


_TOLD = "told"
"""The column of the last estimates."""


@dataclass(frozen=True)
class PosteriorReader:
    """Estimate by posteriors given all releases so far: unbiased if the model is right."""

    mechanism: Observable

    def start(self, rows: int) -> State:
        return self.mechanism.start(rows)

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Observe what is fresh, and predict past what is not."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        observed, posterior = self.mechanism.observe(
            taken(state, fresh), releases.values[fresh].astype(np.int64)
        )
        skipped, _ = self.mechanism.skip(taken(state, ~fresh), releases.values[~fresh])
        after = copied(state)
        put(after, fresh, observed)
        put(after, ~fresh, skipped)
        return after, aligned(fresh, posterior)


@dataclass(frozen=True)
class BatchReader:
    """Estimate by posteriors of every record of a list.

    A record without output is held back, or skipped for want of budget. Which of the two it was
    shows later: a list holds its last records, and what came before them was skipped.
    """

    mechanism: BatchedRelease

    def start(self, rows: int) -> State:
        """Start the mechanism; `pending` stays empty, since true symbols are not public."""
        return self.mechanism.start(rows)

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Observe a list, count what is held back, and predict past what is skipped."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        observed, posterior = self.mechanism.observe(taken(state, fresh), releases.values[fresh])
        return self.moved_on(state, releases, observed), aligned(fresh, posterior)

    def moved_on(self, state: State, releases: Releases, observed: State) -> State:
        """Return the state after lists that were observed, and records without one."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        silent = np.asarray(releases.kinds == Kind.SUPPRESSED)
        waiting = silent & (state["held"] < self.mechanism.window - 1)
        past = ~fresh & ~waiting
        after = copied(state)
        after["held"] += waiting
        still_held = np.where(silent, state["held"], 0)
        skipping = {**state, "held": state["held"] - still_held}
        skipped, _ = self.mechanism.skip(taken(skipping, past), releases.values[past])
        put(after, fresh, observed)
        put(after, past, skipped)
        after["held"][past] = still_held[past]
        return after


@dataclass(frozen=True)
class DecisionReader:
    """Estimate by posteriors of a mechanism that repeats by its own decision, which is
    informative.

    Where it repeats for want of `budget` it says nothing; the ledger tells, and it is public.
    """

    mechanism: AdaptiveRelease
    budget: Budgeted | None

    def start(self, rows: int) -> State:
        return (self.budget or self.mechanism).start(rows)

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Observe what was paid for, fresh or repeated."""
        outcomes = self.mechanism.outcome_of(releases)
        if self.budget is None:
            return self.mechanism.observe(state, outcomes)
        paid = self.budget.pays(state)
        inner = {name: state[name][paid] for name in self.mechanism.start(0)}
        _, posterior = self.mechanism.observe(inner, outcomes[paid])
        return self.budget.follow(state, outcomes), aligned(paid, posterior)


@dataclass(frozen=True)
class CountReader:
    """Estimate by (reported - q) / (p - q): unbiased whatever the truth is, and without a state."""

    law: SymbolReporter

    def start(self, rows: int) -> State:
        return {}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Read the symbol, or the set of symbols, that each fresh release reports."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        released = releases.values[fresh]
        if released.ndim == 1:
            released = released[:, None] == np.arange(self.law.symbols)
        p, q = self.law.reported_if_true, self.law.reported_if_other
        return state, aligned(fresh, (released - q) / (p - q))


@dataclass(frozen=True)
class LearningReader:
    """Count while a stream has no model yet, and take posteriors from then on."""

    early: CountReader
    late: PosteriorReader

    def start(self, rows: int) -> State:
        return self.late.start(rows)

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Count where there is no posterior."""
        after, posterior = self.late.read(state, releases)
        _, counted = self.early.read({}, releases)
        return after, np.where(np.isnan(posterior), counted, posterior)


@dataclass(frozen=True)
class ReportReader:
    """Estimate by new reports, each weighted by how likely the user was to make one.

    A new report says (bit - f) / (1 - 2 f), where f follows from its budget, divided by the
    probability of a new report if this symbol is the true one; a repeated one says 0. Which users
    repeat depends on what is true, so this is unbiased for the symbol of the record, and the report
    in force is not: those that happen to hold the true symbol are kept. Where no report could be
    made, whatever is true, the last estimate stands; it is about the last record that could.

    Source: PBA specification, section 3, corrected by Horvitz and Thompson 1952: the estimator
    there takes the report in force.
    """

    mechanism: WindowReports

    def start(self, rows: int) -> State:
        return {**self.mechanism.start(rows), _TOLD: np.full((rows, self.mechanism.symbols), nan)}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Follow the budgets, which are functions of releases."""
        inner = {name: column for name, column in state.items() if name != _TOLD}
        chances = self.mechanism.report_chances(inner)
        after = self.mechanism.follow_releases(inner, releases)
        budgets, places = np.unique(after["budget"], return_inverse=True)
        reports = self.mechanism.reports
        flips = [reports.flip_chance(units) if units else nan for units in budgets.tolist()]
        f = np.array(flips)[places][:, None]
        fresh = np.equal(np.asarray(releases.kinds), Kind.FRESH)[:, None]
        possible = chances > 0.0
        weighted = (releases.values - f) / ((1.0 - 2.0 * f) * np.where(possible, chances, 1.0))
        told = np.where(fresh, weighted, np.where(possible, 0.0, state[_TOLD]))
        return {**after, _TOLD: told}, told


def share_reader(mechanism: Mechanism) -> ShareReader | None:
    """Return a reader for the releases of a mechanism, if there is one, or None.

    There is none for lists with gaps: a list has the time of its last record alone.
    """
    budget = mechanism if isinstance(mechanism, Budgeted) else None
    match mechanism if budget is None else budget.mechanism:
        case WindowReports() as window:
            return ReportReader(window)
        case BatchedRelease(gaps=None) as batched:
            return BatchReader(batched)
        case BatchedRelease():
            return None
        case AdaptiveRelease() as adaptive:
            return DecisionReader(adaptive, budget)
        case ColdStart() as cold:
            response = GeneralizedRandomizedResponse(cold.symbols, cold.epsilon)
            return LearningReader(CountReader(response), PosteriorReader(cold))
        case Observable() as observable:
            return PosteriorReader(observable)
        case SymbolReporter() as reporter:
            return CountReader(reporter)
    return None


@dataclass(frozen=True)
class DifferenceReader:
    """Add to the belief before a release how far the release departs from what it made likely.

    The difference estimator of survey sampling, with the model as auxiliary information: unbiased
    for symbols that the release law keeps apart, whatever the model is. For what it does not keep
    apart at a release (`mode: optimal`, outside its support) the belief speaks alone. Posteriors
    vary less, but lean on the model everywhere.

    Source: Särndal, Swensson and Wretman 1992, section 6.3 (difference estimator); SIP
    specification, sections 3 (law) and 9 (frequency estimates).
    """

    mechanism: ConditionalRandomizedResponse

    @property
    def outcomes(self) -> int:
        return self.mechanism.model.symbols

    def start(self, rows: int) -> State:
        belief, gaps = np.tile(self.mechanism.model.start, (rows, 1)), self.mechanism.gaps
        in_time = {} if gaps is None else gaps.start(rows)
        return {**in_time, "belief": belief, **self.mechanism.radius.start(rows)}

    def elapse(self, state: State, ticks: Integers) -> State:
        """Bring every row to the tick of its next release; nothing is drawn, so no history."""
        history = np.zeros(len(ticks), dtype=np.uint64)
        after = self.mechanism.elapse({**state, "history": history}, ticks)
        return {name: after[name] for name in state}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Report what is fresh, and predict past what is not."""
        after, told, _, _ = self.read_and_predict(state, releases)
        return after, told

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return the surprise of fresh releases, too; see `PredictingReader`."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        model, before = self.mechanism.model, np.ascontiguousarray(state["belief"].T)
        released = releases.values[fresh].astype(np.int64)
        doubt = self.mechanism.radius.doubt(state, self.mechanism.doubts)[fresh]
        law = self.mechanism.law(model.marginal(before[:, fresh]), doubt)
        belief = np.empty_like(before)
        belief[:, fresh] = model.advance(before[:, fresh], law.posterior(released))
        belief[:, ~fresh] = model.skip(before[:, ~fresh])
        told = aligned(fresh, law.report(released).T)
        surprises, variances = surprises_of(law.expected_releases().T, released)
        gaps = self.mechanism.gaps
        after = {
            **({} if gaps is None else gaps.kept(state)),
            "belief": np.ascontiguousarray(belief.T),
            **self.mechanism.radius.after(state),
        }
        return after, told, aligned(fresh, surprises), aligned(fresh, variances)


def surprises_of(expected: Floats, released: Integers) -> tuple[Floats, Floats]:
    """Return indicators of what was released minus what was expected, and their variances."""
    indicators = released[..., None] == np.arange(expected.shape[-1])
    return indicators - expected, expected * (1.0 - expected)


_LARGEST = 64
"""Tables of laws have as many columns, and half as many rows or more, for each stream."""


@runtime_checkable
class Believing(EnumerableMechanism, Protocol):
    """Release by a belief, which its state holds, under a model that is declared."""

    model: Chain


@dataclass(frozen=True)
class CheckedPosteriorReader(PosteriorReader):
    """Estimate by posteriors, and predict each fresh release.

    The law of a release given the truth, times the belief about the truth before it, is the
    probability of the release under the model. A check adds up how far releases depart from it
    (`model_check`).
    """

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
