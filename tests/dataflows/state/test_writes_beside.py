"""No epoch counts before what its snapshots point at is durable."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSource, run_main

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.state.writes_beside import WritesBeside

KEYS = ["a", "b"]
EPOCHS = 5


def test_wait_returns_when_everything_is_written() -> None:
    writes, may_end, written = WritesBeside(), Event(), list[str]()

    def write() -> None:
        assert may_end.wait(10)
        written.append("slow")

    writes.begin(write)
    writes.begin(partial(written.append, "fast"))
    assert "slow" not in written, "nobody waits before it is asked to"
    may_end.set()
    writes.wait()
    assert sorted(written) == ["fast", "slow"]


def test_a_write_that_fails_is_raised_by_whoever_waits() -> None:
    writes = WritesBeside()

    def write() -> None:
        raise FuguError("the disk is full")

    writes.begin(write)
    with pytest.raises(FuguError, match="the disk is full"):
        writes.wait()
    with pytest.raises(FuguError, match="the disk is full"):
        writes.wait()


def test_waiting_for_nothing_returns() -> None:
    WritesBeside().wait()


class Step(StatefulBatchLogic[int, int, int]):
    """Gives everything on, and says when it is asked for its state."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def on_batch(self, values: list[int]) -> tuple[list[int], bool]:
        return values, StatefulBatchLogic.RETAIN

    def snapshot(self) -> int:
        self.said.append("step")
        return 0


class Part(StatefulSinkPartition[int, int]):
    """Says when it is asked for its state."""

    def __init__(self, say: Callable[[], None]) -> None:
        self.say = say

    def write_batch(self, values: list[int]) -> None: ...

    def snapshot(self) -> int:
        self.say()
        return 0


class Sink(FixedPartitionedSink[int, int]):
    def __init__(self, say: Callable[[], None]) -> None:
        self.say = say

    def list_parts(self) -> list[str]:
        return KEYS

    def part_fn(self, item_key: str) -> int:
        return KEYS.index(item_key)

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Part:
        return Part(self.say)


def run(store: Path, say: Callable[[], None]) -> list[str]:
    """Return what a step with two sinks is asked for, epoch by epoch."""
    init_db_dir(store, 1)
    said: list[str] = []

    def of_sink() -> None:
        said.append("sink")
        say()

    items = [(key, number) for number in range(EPOCHS) for key in KEYS]
    flow = Dataflow("order")
    source = op.input("source", flow, TestingSource(items, batch_size=len(KEYS)))
    step = op.stateful_batch("step", source, lambda state: Step(said))
    op.output("sink", step, Sink(of_sink))
    op.output("other_sink", step, Sink(of_sink))
    with suppress(BytewaxRuntimeError):
        run_main(flow, epoch_interval=timedelta(0), recovery_config=RecoveryConfig(str(store)))
    return said


def epoch_to_resume(store: Path) -> int:
    """The epoch that the next run begins with."""
    with closing(sqlite3.connect(store / "part-0.sqlite3")) as database:
        [(epoch,)] = database.execute(
            "SELECT MAX(epoch) FROM (SELECT worker_frontier AS epoch FROM fronts"
            " UNION SELECT resume_epoch FROM exs)"
        )
    return int(epoch)


FIRST_EPOCH = 1
SINK_ANSWERS = 2 * len(KEYS)
OF_AN_EPOCH = ["step"] * len(KEYS) + ["sink"] * SINK_ANSWERS
"""The calls at its end. If this changes, a pointer may count before its block is durable:
sinks wait in vain."""


def test_bytewax_asks_sinks_after_all_steps(tmp_path: Path) -> None:
    said = run(tmp_path, lambda: None)
    assert said[: EPOCHS * len(OF_AN_EPOCH)] == OF_AN_EPOCH * EPOCHS


@pytest.mark.parametrize("answers", range(2 * SINK_ANSWERS))
def test_bytewax_counts_no_epoch_before_every_sink_has_answered(
    answers: int, tmp_path: Path
) -> None:
    left = answers

    def say() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError

    run(tmp_path, say)
    assert epoch_to_resume(tmp_path) == FIRST_EPOCH + answers // SINK_ANSWERS
