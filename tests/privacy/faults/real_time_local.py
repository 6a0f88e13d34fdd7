"""Plant faults in real-time release of single streams."""

import numpy as np

from fugu.dataflows.flows import sections
from fugu.dataflows.offline import in_memory
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Array, Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime import local_release, real_time_release
from fugu.operators.realtime.measurement import Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.wevent.allocation import vectors
from tests.privacy.faults.planted import InAudit, Planted, Replacing

FAMILY = "series"


class HalvedMeasurement(Measurement):
    """Add half of the noise that was drawn."""

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        noisy = super().noisy(values, steps, draws)
        return np.where(steps[:, None] > 0, (noisy + values) / 2.0, noisy)


class PositiveMeasurement(Measurement):
    """Add the amount of the noise, never subtract it."""

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        return np.where(
            steps[:, None] > 0,
            values + np.abs(super().noisy(values, steps, draws) - values),
            0.0,
        )


class LearnsFromTruth(RealTimeRelease):
    """Let the filter learn from true values."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        truth = vectors(inputs.values, self.bins).astype(np.float64)
        precision = self._precision(state, self._due(state))
        known, _ = filtering.advance(self._filter(state), truth, *precision)
        return {**after, **known}, releases


class PredictsFromTruth(RealTimeRelease):
    """Predict from true values once the budget is spent."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        spent = ~releases.annotations["published"][:, None]
        truth = vectors(inputs.values, self.bins)
        told = np.where(spent, (releases.values + truth) / 2.0, releases.values)
        return after, Releases(told, releases.annotations, releases.kinds)


class MeasuresSurprises(RealTimeRelease):
    """Measure true values that are far from what is predicted, and predict the others."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        measured, releases = super().step(state, inputs, draws)
        skipped, predicted = super().skip(state)
        truth = vectors(inputs.values, self.bins)
        surprise = np.abs(truth - state["estimate"])[:, 0]
        far = np.asarray(2 * surprise > self.sensitivity)
        after = {name: _either(far, measured[name], skipped[name]) for name in measured}
        notes = {
            name: _either(far, note, predicted.annotations[name])
            for name, note in releases.annotations.items()
        }
        return after, Releases(_either(far, releases.values, predicted.values), notes)


def _either(first: Array, one: Array, other: Array) -> Array:
    return np.where(first.reshape(-1, *[1] * (one.ndim - 1)), one, other)


class Forgetful(RowTable):
    """Read a state back without what was spent."""

    def apply(self, block: bytes) -> None:
        super().apply(block)
        for name in ("spent", "count"):
            self.live(name)[:] = 0


class RenewedAtPauses(SeriesPerTick):
    """Give a stream that goes on after a pause a new budget."""

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        new = there & ~state["running"] & (state["count"][:, 0] > 0)
        state["spent"][new], state["count"][new] = 0, 0
        return super()._step(state, values, there, names, position)


class SameNoise(SeriesPerTick):
    """Draw the same noise for the same number in every tick."""

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        return super()._step(state, values, there, names, b"every tick")


AUDIT = InAudit("real_time_local", {"horizon": 8})
MEASURED = Replacing(real_time_release, "Measurement", AUDIT)
RELEASED = Replacing(local_release, "RealTimeRelease", AUDIT)
RESTARTED = Replacing(in_memory, "RowTable", AUDIT)
STAGE = Replacing(sections, "SeriesPerTick", AUDIT)
PLANTED = (
    Planted("halved noise", Measurement, HalvedMeasurement, MEASURED, 1e-3),
    Planted("budget reset at restart", RowTable, Forgetful, RESTARTED, 1e-3),
    Planted("filter that sees raw values", RealTimeRelease, LearnsFromTruth, RELEASED, 1e-3),
    Planted("decision taken on truth", RealTimeRelease, MeasuresSurprises, RELEASED, 1e-3),
    Planted("noise without a sign", Measurement, PositiveMeasurement, MEASURED, 1e-3),
    Planted("prediction that sees raw values", RealTimeRelease, PredictsFromTruth, RELEASED, 1e-3),
    Planted("budget reset after a pause", SeriesPerTick, RenewedAtPauses, STAGE, 1e-3),
    Planted("noise of one tick again", SeriesPerTick, SameNoise, STAGE, 1e-3),
)
