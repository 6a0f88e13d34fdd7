"""Plant faults in real-time release of figures, which `fugu audit` must notice."""

from dataclasses import dataclass

from fugu.dataflows.kinds import real_time
from fugu.dataflows.offline.auditing.aggregates import subject
from fugu.dataflows.stages.merging import Merging
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.realtime.measurement import Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.shaped_release import ShapedRelease
from fugu.operators.totals.fitted import UNMIXED
from fugu.operators.totals.precision import Changes, Precision
from tests.operators.realtime import test_shaped_release
from tests.privacy.faults.planted import InTest, Replacing
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


class BufferGoesOn(ShapedRelease):
    """Keep what the buffer remembers of people when a period begins, and so their budgets."""

    def _in_its_period(self, state: State) -> State:
        return {**super()._in_its_period(state), "buffers": state["buffers"]}


class MixtureForgotten(ShapedRelease):
    """Pay for figures as they are, where noise is on mixtures of them."""

    def _precision(self, changes: Changes) -> Precision:
        paid = super()._precision(changes)
        unmixed = Precision(UNMIXED, changes, self.epsilon, self.delta)
        return OfUnmixed(paid.buffers, changes, self.epsilon, self.delta, unmixed.steps_of_unit)


@dataclass(frozen=True)
class OfUnmixed(Precision):
    """Mix with the steps that are paid for without mixing."""

    steps: float

    @property
    def scale(self) -> int:
        return int(self.steps * 2**self.buffers.guard_bits)


AUDIT = in_audit("real_time")
SHAPED = in_audit(
    "real_time",
    horizon=None,
    epsilon=0.5,
    contributions={"at_most": 1, "per": "3h"},
    filter={"mean": 30.0, "deviation": 20.0, "correlation": 0.99},
)
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
        "ignored window",
        ShapedRelease,
        MixtureForgotten,
        Replacing(real_time, "ShapedRelease", SHAPED),
    ),
    planted(
        "budget reset at a new period",
        ShapedRelease,
        BufferGoesOn,
        Replacing(
            test_shaped_release,
            "ShapedRelease",
            InTest(test_shaped_release.test_a_period_leaves_nothing_in_measurements_of_the_next),
        ),
    ),
    planted(
        "budget reset at restart", Merging, SpentForgotten, Replacing(subject, "Merging", AUDIT)
    ),
)
