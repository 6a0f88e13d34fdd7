"""Plant faults in series of numbers, user by user, and in the filter of real-time release."""

from dataclasses import replace

from fugu.dataflows.base.batches import Decoded, RefusedRecords, Sanitized
from fugu.dataflows.flows import sections
from fugu.dataflows.offline import in_memory
from fugu.dataflows.stages import per_tick
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.randomness import tick_position
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.wevent.allocation import vectors
from tests.dataflows.stages.series import test_ticks
from tests.operators.realtime import test_real_time_release as releasing
from tests.privacy.faults.charges import SpentForgotten
from tests.privacy.faults.planted import InDirectory, InTest, Planted, Replacing

FAMILY = "series"


class FilterOfRawValues(RealTimeRelease):
    """Let the filter learn from true values, and publish what it makes of noisy ones."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        truth = vectors(inputs.values, self.bins).astype(float)
        precision = self._precision(state, self._due(state))
        return {**after, **filtering.advance(self._filter(state), truth, *precision)[0]}, releases


class RefusedNumbersAreNotSeen(SeriesPerTick):
    """Move time by the records whose numbers are accepted only."""

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        return super().__call__(replace(decoded, refused=RefusedRecords()), table)


def position_in_any_partition(topic: str, tick: int, *, partition: int | None = None) -> bytes:
    """Leave the partition out of the position that a tick of a user is drawn for."""
    return tick_position(topic, tick)


RAW = Replacing(
    releasing,
    "RELEASE",
    InTest(
        releasing.test_a_release_depends_on_true_values_only_through_noisy_ones,
        lambda kind: (None,),
    ),
    made=lambda kind: kind(2, 1, 2, epsilon=5.0, delta=1e-6, horizon=10),
)
TIME = Replacing(
    sections,
    "SeriesPerTick",
    InDirectory(test_ticks.test_whether_a_number_is_valid_moves_no_time_and_admits_nobody),
)
POSITIONS = Replacing(
    per_tick,
    "tick_position",
    InDirectory(
        test_ticks.test_a_user_in_two_partitions_has_independent_noise_and_other_release_ids
    ),
)
RESTART = Replacing(
    in_memory,
    "RowTable",
    InDirectory(test_ticks.test_a_state_that_was_written_and_read_goes_on_the_same),
)
PLANTED = (
    Planted("filter that sees raw values", RealTimeRelease, FilterOfRawValues, RAW),
    Planted("time moved by values", SeriesPerTick, RefusedNumbersAreNotSeen, TIME),
    Planted("shared draws between partitions", tick_position, position_in_any_partition, POSITIONS),
    Planted("budget reset at restart", RowTable, SpentForgotten, RESTART),
)
