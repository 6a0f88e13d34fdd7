"""Plant faults in what a stage charges, keeps over a restart, and draws with."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fugu.dataflows.stages.per_record import Advanced, PerRecord, Selection
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import budget
from fugu.operators.budget import BudgetLedger
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Integers, Releases, State
from fugu.operators.randomness import record_positions
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.stages import columns
from tests.dataflows.stages import test_per_record as lifting
from tests.dataflows.state import test_row_table as row_table
from tests.operators import test_names_and_positions as positions
from tests.privacy import test_budgets as budgets
from tests.privacy.faults.planted import InTest, Planted, Replacing

FAMILY = "records"


class ChargedOncePerBatch(PerRecord):
    """Release a key that occurs again in a batch, and do not charge it again."""

    @cached_property
    def _running(self) -> None:
        return None

    def _step(self, state: State, batch: Selection) -> tuple[State, Releases]:
        after, releases = super()._step(state, batch)
        again = [batch.batch.keys[i] in batch.batch.keys[:i] for i in batch.places]
        return {**after, "spent": np.where(again, state["spent"], after["spent"])}, releases


class ChargedOncePerRun(PerRecord):
    """Do the same where a batch is advanced in one call."""

    def _run(self, table: RowTable, batch: Selection) -> Advanced | None:
        distinct, first = np.unique(batch.rows, return_index=True)
        charged = RowTable(self.start)
        charged.rows_of(table.keys)
        charged.scatter(distinct, table.gather(distinct))
        super()._run(charged, batch.at(first))
        advanced = super()._run(table, batch)
        spent = charged.gather(distinct)["spent"]
        table.scatter(distinct, {**table.gather(distinct), "spent": spent})
        return advanced


class SpentForgotten(RowTable):
    """Read rows back as if they had spent nothing."""

    def apply(self, content: bytes) -> None:
        super().apply(content)
        self.live("spent")[:] = 0


class EveryWindowIsEmpty(BudgetLedger):
    """Give every position all of the budget of its window."""

    def room(self, state: State) -> Integers:
        room = super().room(state)
        return room if self.window is None else np.full_like(room, self.total)


def positions_of_any_partition(topic: str, partition: int, offsets: Sequence[int]) -> ByteColumn:
    """Leave the partition out of the position that a record is drawn for."""
    return record_positions(topic, 0, offsets)


RESTART = Replacing(
    columns, "RowTable", InTest(row_table.test_a_restored_table_goes_on_like_the_one_it_was)
)
WINDOW = Replacing(
    budget,
    "BudgetLedger",
    InTest(
        budgets.test_with_a_window_the_ledger_of_every_path_still_covers_everything,
        lambda ledger: (3,),
    ),
)
POSITIONS = Replacing(
    positions, "record_positions", InTest(positions.test_positions_are_their_fields)
)
STEPS = InTest(
    lifting.test_a_batch_costs_what_its_records_cost_one_by_one,
    lambda kind: (kind(columns.CRR, columns.SCOPE, columns.SOURCE, columns.EVERYBODY),),
)
RUNS = InTest(
    lifting.test_a_batch_costs_what_its_records_cost_one_by_one,
    lambda kind: (
        kind(
            GeneralizedRandomizedResponse(4, 1.0), columns.SCOPE, columns.SOURCE, columns.EVERYBODY
        ),
    ),
)
PLANTED = (
    Planted("ignored window", BudgetLedger, EveryWindowIsEmpty, WINDOW),
    Planted("budget reset at restart", RowTable, SpentForgotten, RESTART),
    Planted(
        "shared draws between partitions", record_positions, positions_of_any_partition, POSITIONS
    ),
    Planted("charged once per batch", PerRecord, ChargedOncePerBatch, STEPS),
    Planted("charged once per batch", PerRecord, ChargedOncePerRun, RUNS),
)
