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

import numpy as np

from fugu.operators.budget import Budgeted
from fugu.operators.columns import copied, put, taken
from fugu.operators.estimates.share_reader import (
    Observable,
    ShareReader,
    SymbolReporter,
    aligned,
)
from fugu.operators.mechanism import Floats, Kind, Mechanism, Releases, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.wevent_local.window_reports import WindowReports

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
