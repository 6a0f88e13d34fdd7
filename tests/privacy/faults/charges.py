"""Plant faults in what a stage charges, keeps over a restart, and draws with."""

from functools import cached_property

import numpy as np

from fugu.dataflows.base.batches import Decoded
from fugu.dataflows.stages.batch_result import Advanced, picked
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, Releases, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.stages import columns
from tests.dataflows.stages import test_per_record as lifting
from tests.privacy.faults.planted import InTest, Planted

FAMILY = "records"


class ChargedOncePerBatch(PerRecord):
    """Release a key that occurs again in a batch, and do not charge it again."""

    @cached_property
    def _running(self) -> None:
        return None

    def _step(self, state: State, decoded: Decoded, index: Integers) -> tuple[State, Releases]:
        after, releases = super()._step(state, decoded, index)
        again = [decoded.keys[i] in decoded.keys[:i] for i in index]
        return {**after, "spent": np.where(again, state["spent"], after["spent"])}, releases


class ChargedOncePerRun(PerRecord):
    """Do the same where a batch is advanced in one call."""

    def _run(self, table: RowTable, rows: Integers, accepted: Decoded) -> Advanced | None:
        distinct, first = np.unique(rows, return_index=True)
        charged = RowTable(self.start)
        charged.rows_of(table.keys)
        charged.scatter(distinct, table.gather(distinct))
        super()._run(charged, rows[first], picked(accepted, first))
        advanced = super()._run(table, rows, accepted)
        spent = charged.gather(distinct)["spent"]
        table.scatter(distinct, {**table.gather(distinct), "spent": spent})
        return advanced


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
    Planted("charged once per batch", PerRecord, ChargedOncePerBatch, STEPS),
    Planted("charged once per batch", PerRecord, ChargedOncePerRun, RUNS),
)
