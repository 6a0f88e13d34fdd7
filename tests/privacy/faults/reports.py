"""Plant faults in reports under a budget of windows, which say that a stream is absent."""

from dataclasses import replace

import numpy as np

from fugu.dataflows.flows import sections
from fugu.dataflows.stages.reports import ReportsPerTick
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Array, Floats, Kind, Releases, State
from fugu.operators.wevent_local.strategies import LocalPrivacyBudgetAllocation
from tests.dataflows.stages.reports import test_ticks
from tests.privacy.faults.planted import InDirectory, InTest, Planted, Replacing
from tests.privacy.test_local_window_leakage import (
    EPSILON,
    test_absence_is_one_more_truth_that_windows_do_not_tell,
)

FAMILY = "symbols"


class RepeatsWhenAbsent(LocalPrivacyBudgetAllocation):
    """Repeat the report in force for sure where the stream is absent."""

    def release_law(self, state: State) -> Floats:
        law, began = super().release_law(state), state["budget"] > 0
        law[began, self.symbols] = 0.0
        again = 2**self.symbols + self._numbers(state["report"][began])
        law[began, self.symbols, again] = 1.0
        return law


class DecidesOnAbsence(LocalPrivacyBudgetAllocation):
    """Repeat with three times the budget of a decision where the stream is absent."""

    def release_law(self, state: State) -> Floats:
        law, count = super().release_law(state), 2**self.symbols
        again = law[:, self.symbols, count:].sum(axis=1)
        asked = np.flatnonzero((again > 0) & (again < 1))
        odds = np.exp(3 * EPSILON / (2 * self.window))
        repeats = odds / (1 + odds)
        law[asked, self.symbols, count:] *= (repeats / again[asked])[:, None]
        law[asked, self.symbols, :count] *= ((1 - repeats) / (1 - again[asked]))[:, None]
        return law


class AbsentIsLeftOut(ReportsPerTick):
    """Publish nothing for a stream without a record."""

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        after, releases = super()._step(state, values, there, names, position)
        kinds = np.where(there, Kind.FRESH, Kind.SUPPRESSED)
        return after, replace(releases, kinds=kinds)


class AbsentPauses(ReportsPerTick):
    """Let a stream pause after a tick without a record."""

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        after, releases = super()._step(state, values, there, names, position)
        return {**after, "running": there}, releases


LAW = InTest(
    test_absence_is_one_more_truth_that_windows_do_not_tell, lambda kind: (kind, "response", 2)
)
STAGE = Replacing(
    sections,
    "ReportsPerTick",
    InDirectory(test_ticks.test_only_values_say_in_which_ticks_a_stream_had_a_record),
)
PLANTED = (
    Planted("decision taken on truth", LocalPrivacyBudgetAllocation, RepeatsWhenAbsent, LAW),
    Planted("decision beyond its budget", LocalPrivacyBudgetAllocation, DecidesOnAbsence, LAW),
    Planted("absence that shows", ReportsPerTick, AbsentIsLeftOut, STAGE),
    Planted("absence that shows", ReportsPerTick, AbsentPauses, STAGE),
)
