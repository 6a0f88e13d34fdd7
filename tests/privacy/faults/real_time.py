"""Plant faults in real-time release of figures, which `fugu audit` must notice."""

from fugu.dataflows.kinds import real_time
from fugu.dataflows.offline.auditing.aggregates import subject
from fugu.dataflows.stages.merging import Merging
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.realtime.measurement import Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease
from tests.privacy.faults.planted import Replacing
from tests.privacy.faults.windows import SpentForgotten, in_audit, planted

FAMILY = "figures in real time"


class TwiceAsPrecise(Measurement):
    """Measure with twice the steps that are paid for."""

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        return super().noisy(values, 2 * steps, draws)


class HalvedNoise(RealTimeRelease):
    """Measure with noise of half the deviation that is paid for."""

    @property
    def _measurement(self) -> Measurement:
        return TwiceAsPrecise(self.sensitivity)


class FilterOfRawValues(RealTimeRelease):
    """Let the filter go on from the true figures."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return {**after, "estimate": inputs.values.astype(float)}, releases


AUDIT = in_audit("real_time")
PLANTED = (
    planted(
        "halved noise",
        RealTimeRelease,
        HalvedNoise,
        Replacing(real_time, "RealTimeRelease", AUDIT),
    ),
    planted(
        "filter that sees raw values",
        RealTimeRelease,
        FilterOfRawValues,
        Replacing(real_time, "RealTimeRelease", AUDIT),
    ),
    planted(
        "budget reset at restart", Merging, SpentForgotten, Replacing(subject, "Merging", AUDIT)
    ),
)
