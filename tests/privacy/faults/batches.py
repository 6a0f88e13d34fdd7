"""Plant faults in batches, in the learned phase, and in what a restart brings back."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from fugu.dataflows.kinds import batched_crr, cold_start_crr
from fugu.dataflows.offline import in_memory
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.sip.batches.batch_plan import BatchPlans
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from tests.privacy import test_batch_leakage as batch_leakage
from tests.privacy.faults.planted import InAudit, InTest, Planted, Replacing

FAMILY = "records"


class EpsilonPerRecord(BatchedRelease):
    """Spend the epsilon of a batch on each of its records."""

    @cached_property
    def _plans(self) -> BatchPlans:
        whole = self.window * self.epsilon_per_batch
        return BatchPlans(self._walk, self.window, whole, self.distance, self.kernel)


class DrainsTheTruth(BatchedRelease):
    """Release what is held back at the end of a stream as it is."""

    def finish(self, state: State, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().finish(state, draws)
        values = releases.values.copy()
        values[:, : self.window - 1] = np.where(
            values[:, : self.window - 1] < 0, -1, state["pending"]
        )
        return after, replace(releases, values=values)


class LastSymbolAlone(BatchedRelease):
    """Believe after a batch that the chain remembers its last symbol alone."""

    def _settle(
        self, after: State, rows: Integers, released: Integers, last: Floats, charge: Integers
    ) -> None:
        alone = np.zeros_like(last)
        alone[: self.model.symbols] = self.model.marginal(last)
        super()._settle(after, rows, released, alone, charge)


class GapsLeftOut(BatchedRelease):
    """Make the law of a batch as if its records were a step apart."""

    def _steps(self, state: State, rows: Integers, length: int) -> Integers | None:
        steps = super()._steps(state, rows, length)
        return None if steps is None else np.ones_like(steps)


class TruthOnceLearned(ColdStart):
    """Release the truth as soon as there is a model."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        values = np.where(self.learning.warm(state), inputs.values, releases.values)
        return after, replace(releases, values=values)


class BudgetReset(RowTable):
    """Read streams back as if none had spent or exhausted anything."""

    def apply(self, block: bytes) -> None:
        super().apply(block)
        rows = np.arange(len(self.keys))
        self.scatter(rows, self._start(len(rows)))


class PendingShown(BatchedRelease):
    """Repeat the last release at once where the record that is held back is the first symbol."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        assert releases.kinds is not None
        waiting = (releases.kinds == Kind.SUPPRESSED) & (inputs.values == 0)
        return after, replace(releases, kinds=np.where(waiting, Kind.REPEATED, releases.kinds))


BATCHES = Replacing(
    batched_crr, "BatchedRelease", InAudit("batched_crr", {"kernel": "linear_program"})
)
PAIRS = InTest(batch_leakage.check_pairs, lambda planted: (planted,))
IN_TIME = InTest(batch_leakage.check_gaps, lambda planted: (planted,))
LEARNING = {"positions": 60, "when_short": "accept"}
LEARNED = Replacing(cold_start_crr, "ColdStart", InAudit("cold_start_crr", LEARNING))
RESTARTED = Replacing(
    in_memory, "RowTable", InAudit("grr", sections={"budget": {"total": 3.0}}, runs=1_000, steps=4)
)
PLANTED = (
    Planted("batch counted twice", BatchedRelease, EpsilonPerRecord, BATCHES, false_alarm=1e-3),
    Planted("drain that shows", BatchedRelease, DrainsTheTruth, BATCHES, false_alarm=1e-3),
    Planted("presence that shows", BatchedRelease, PendingShown, BATCHES, false_alarm=1e-3),
    Planted("pairs forgotten", BatchedRelease, LastSymbolAlone, PAIRS),
    Planted("gaps left out", BatchedRelease, GapsLeftOut, IN_TIME),
    Planted("truth once learned", ColdStart, TruthOnceLearned, LEARNED, false_alarm=1e-3),
    Planted("budget reset at restart", RowTable, BudgetReset, RESTARTED, false_alarm=1e-3),
)
