"""What a killed run left of an epoch must not be taken for the state after that epoch."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.operators import StatefulBatchLogic
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.recovery import forget_unfinished_epochs

Item = tuple[str, int] | TestingSource.ABORT | TestingSource.EOF


class Sum(StatefulBatchLogic[int, int, int]):
    """Adds up what a key is given."""

    def __init__(self, state: int | None) -> None:
        self.total = state or 0

    def on_batch(self, values: list[int]) -> tuple[list[int], bool]:
        self.total += sum(values)
        return [self.total], StatefulBatchLogic.RETAIN

    def snapshot(self) -> int:
        return self.total


class Sums:
    """A bytewax dataflow with a recovery store, over items that a test appends to."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.items: list[Item] = []
        store.mkdir()
        init_db_dir(store, 1)

    def run(self, *items: Item) -> list[tuple[str, int]]:
        self.items += items
        out: list[tuple[str, int]] = []
        flow = Dataflow("sums")
        source = op.input("source", flow, TestingSource(self.items))
        op.output("sink", op.stateful_batch("sum", source, Sum), TestingSink(out))
        with suppress(BytewaxRuntimeError):
            run_main(
                flow, epoch_interval=timedelta(0), recovery_config=RecoveryConfig(str(self.store))
            )
        return out

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.store / "part-0.sqlite3")) as database, database:
            yield database

    def leave_behind(self, key: str, total: bytes, *, epochs_ahead: int = 0) -> None:
        """What a killed run wrote of the epoch that it did not finish."""
        with self.database() as database:
            database.execute(
                "INSERT INTO snaps SELECT CURRENT_TIMESTAMP, 'sums.sum', ?,"
                " MAX(worker_frontier) + ?, ? FROM fronts",
                (key, epochs_ahead, total),
            )

    def snapshots(self) -> int:
        with self.database() as database:
            return int(database.execute("SELECT COUNT(*) FROM snaps").fetchone()[0])


TOO_MUCH = b"\x80\x04K\x64."
"""The number 100, as bytewax stores it."""


WITHOUT_A: list[Item] = [("b", 1), ("b", 1), ("b", 1), TestingSource.ABORT()]
"""Some epochs that do not touch the key of the leftover, and a crash."""


@pytest.fixture
def sums(tmp_path: Path) -> Sums:
    sums = Sums(tmp_path / "store")
    sums.run(("a", 1), ("b", 1), TestingSource.EOF())
    return sums


def test_bytewax_takes_a_leftover_for_the_state(sums: Sums) -> None:
    """If this fails, bytewax has learned to forget by itself, and `forget_...` may go."""
    sums.leave_behind("a", TOO_MUCH)
    sums.run(*WITHOUT_A)
    assert ("a", 101) in sums.run(("a", 1))


def test_a_leftover_is_forgotten(sums: Sums) -> None:
    sums.leave_behind("a", TOO_MUCH)
    sums.leave_behind("b", TOO_MUCH, epochs_ahead=1)
    assert forget_unfinished_epochs(sums.store) == 2
    sums.run(*WITHOUT_A)
    forget_unfinished_epochs(sums.store)
    assert ("a", 2) in sums.run(("a", 1))


def test_finished_epochs_are_kept(sums: Sums) -> None:
    before = sums.snapshots()
    assert forget_unfinished_epochs(sums.store) == 0
    assert sums.snapshots() == before > 0
    assert sums.run(("a", 1)) == [("a", 2)]


def test_a_run_that_finished_no_epoch_resumes_where_it_began(sums: Sums) -> None:
    with sums.database() as database:
        database.execute(
            "INSERT INTO exs SELECT CURRENT_TIMESTAMP, 1, 1, MAX(worker_frontier) FROM fronts"
        )
    sums.leave_behind("a", TOO_MUCH)
    assert forget_unfinished_epochs(sums.store) == 1
    assert sums.run(("a", 1)) == [("a", 2)]


def test_a_new_store_holds_nothing_to_forget(tmp_path: Path) -> None:
    assert forget_unfinished_epochs(Sums(tmp_path / "store").store) == 0


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_a_damaged_store_is_refused(content: bytes, sums: Sums) -> None:
    (sums.store / "part-0.sqlite3").write_bytes(content)
    with pytest.raises(StartRefused, match="cannot be used: it is damaged, or the disk is full"):
        forget_unfinished_epochs(sums.store)
