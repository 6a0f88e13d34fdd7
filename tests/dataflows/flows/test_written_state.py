"""A directory that a command writes for a state from elsewhere is one of a graceful stop."""

from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.flows.stopped_state import require_graceful_stop, resumed_at
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.flows.written_state import StoppedShard
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.recovery import forget_unfinished_epochs, resuming
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import State
from tests.dataflows.state.fingerprints import FINGERPRINT

POSITIONS = {1: 70, 3: 0}
ENDS = {"sink": {1: 41, 3: 9}, "dead_letter_sink": {1: 5, 3: 0}}
COMMAND = "fugu state move"


def columns(count: int) -> State:
    return {"spent": np.zeros(count, dtype=np.int64)}


def table(**spent: int) -> RowTable:
    made = RowTable(columns)
    rows = made.rows_of([name.encode() for name in spent])
    made.scatter(rows, {"spent": np.array(list(spent.values()), dtype=np.int64)})
    return made


@pytest.fixture
def written(tmp_path: Path) -> StateDirectory:
    begin = dict.fromkeys(["1", "3"], 0)
    fingerprint = FINGERPRINT.model_copy(
        update={"shard": 1, "shards": 2, "partitions": 4, "source_begin": begin}
    )
    exchange, directory = Exchange(tmp_path), StateDirectory(tmp_path / "shard-0001")
    rows = {1: table(ada=7, bob=2), 3: table()}
    shard = StoppedShard(
        fingerprint=fingerprint,
        tables=rows,
        positions=POSITIONS,
        ends=ENDS,
        source_step=StreamsPlan.steps[0],
        stage_step=StreamsPlan.stage_step,
        columns=(columns, None),
    )
    shard.write(exchange, directory)
    assert directory.is_empty
    exchange.decide([], [directory.path], COMMAND)
    exchange.finish()
    return directory


def test_every_step_resumes_where_the_state_stood(written: StateDirectory) -> None:
    stored = written.stored()
    assert stored is not None
    for step, offsets in {"source": POSITIONS, **ENDS}.items():
        found = resumed_at(written, stored, step, dict.fromkeys(stored.source_begin, -1))
        assert found == {str(partition): offset for partition, offset in offsets.items()}
    assert require_graceful_stop(written) == {"1": 70, "3": 0}


def test_rows_are_those_that_were_given_and_no_start_forgets_them(written: StateDirectory) -> None:
    assert forget_unfinished_epochs(written.recovery) == 0
    found = {}
    for pointer in resuming(written.recovery).pointers.values():
        log = RowLog(written.rows, partition_of(pointer), columns)
        log.load(pointer)
        spent = log.table.column("spent").tolist()
        found[partition_of(pointer)] = dict(zip(log.table.keys, spent, strict=True))
    assert found == {1: {b"ada": 7, b"bob": 2}, 3: {}}
