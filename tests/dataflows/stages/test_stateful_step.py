"""Make what a step points at durable before the pointer counts."""

from pathlib import Path
from threading import Event, Timer

import pytest

from fugu.dataflows.base.batches import Sanitized
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.row_log import RowLog
from fugu.dataflows.state.writes_beside import Write, WritesBeside
from tests.dataflows.stages.columns import CRR, batch_of, codec, lift

RECORDS = [(b"ada", b'{"zone": "rest"}')]


class Held(WritesBeside):
    """Writes that begin when a test lets them."""

    def __init__(self) -> None:
        super().__init__()
        self.may_begin = Event()

    def begin(self, write: Write) -> None:
        def later() -> None:
            assert self.may_begin.wait(10)
            write()

        super().begin(later)


@pytest.fixture
def writes() -> Held:
    return Held()


@pytest.fixture
def step(tmp_path: Path, writes: Held) -> Sanitize[Sanitized]:
    return Sanitize(lift(), tmp_path, "vitals.raw", Metrics(), None, writes=writes)


def release(step: Sanitize[Sanitized]) -> None:
    step.on_batch([codec().decode(batch_of(RECORDS))])


def test_with_records_for_the_sinks_the_sinks_wait(
    step: Sanitize[Sanitized], writes: Held, tmp_path: Path
) -> None:
    release(step)
    pointer = step.snapshot()
    assert not list(tmp_path.iterdir()), "the snapshot came back before anything was written"
    writes.may_begin.set()
    writes.wait()
    RowLog(tmp_path, 2, CRR.start).load(pointer)


def test_without_records_for_the_sinks_the_step_waits_itself(
    step: Sanitize[Sanitized], writes: Held, tmp_path: Path
) -> None:
    release(step)
    writes.may_begin.set()
    step.snapshot()
    writes.wait()
    writes.may_begin.clear()
    Timer(0.1, writes.may_begin.set).start()
    pointer = step.snapshot()
    RowLog(tmp_path, 2, CRR.start).load(pointer)
