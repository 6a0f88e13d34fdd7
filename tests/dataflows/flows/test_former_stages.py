"""Rows of the version before go on with a bound on the predictions that nobody counted."""

from pathlib import Path

from fugu.dataflows.flows.former_stages import former_records
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.state.row_log import RowLog
from fugu.operators.budget import Budgeted
from fugu.operators.sip.belief_radius import PREDICTIONS
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

STICKY = MarkovModel.smoothed([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], smoothing=1e-12)
COUNTED = Budgeted(ConditionalRandomizedResponse(STICKY, epsilon=1.0), total=9.0)


def test_predictions_are_bounded_by_the_records_of_the_partition(tmp_path: Path) -> None:
    now = row_columns(COUNTED, None)
    former = former_records(now, COUNTED, records=144)
    assert former is not None
    before = RowLog(tmp_path, 0, former.start)
    before.table.rows_of([b"alice", b"bob"])
    spent = before.table.gather(before.table.rows_of([b"bob"]))
    spent["spent"][:] = 7
    before.table.scatter(before.table.rows_of([b"bob"]), spent)
    pointer = before.append()

    after = RowLog(tmp_path, 0, now, former=former)
    after.load(pointer)
    assert after.table.live(PREDICTIONS).tolist() == [144, 144]
    assert after.table.live("spent").tolist() == [0, 7]
    again = RowLog(tmp_path, 0, now, former=former)
    again.load(after.append())
    assert again.table.live(PREDICTIONS).tolist() == [144, 144]
