"""Take nothing that a killed run left of an epoch for the state after that epoch."""

import pickle
import sqlite3
from collections.abc import Callable, Iterator
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

from fugu.dataflows.base.errors import FuguError, StartRefused, exit_code
from fugu.dataflows.state.recovery import (
    create_store,
    forget_unfinished_epochs,
    resuming,
    unusable_store,
)
from tests.dataflows.state.limits import no_file_grows_beyond

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
        """Write what a killed run leaves of the epoch that it did not finish."""
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


def bytewax_failed(store: Path) -> None:
    """Return what is raised after bytewax could not use it."""
    raise unusable_store(store)


def _truncated(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:5000])


def _page_overwritten(part: Path) -> None:
    content = bytearray(part.read_bytes())
    for page in range(1, len(content) // 4096):
        content[4096 * page : 4096 * page + 64] = b"\x99" * 64
    part.write_bytes(content)


def _of_something_else(part: Path) -> None:
    part.unlink()
    with closing(sqlite3.connect(part)) as database, database:
        database.execute("CREATE TABLE other (number INTEGER)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda part: part.write_bytes(b""),
    "no database": lambda part: part.write_bytes(b"not a database" * 100),
    "truncated": _truncated,
    "pages overwritten": _page_overwritten,
    "another database": _of_something_else,
    "gone": lambda part: part.unlink(),
    "two of them": lambda part: part.with_name("part-1.sqlite3").write_bytes(part.read_bytes()),
}


@pytest.mark.parametrize("use", [forget_unfinished_epochs, resuming, bytewax_failed])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_refused(damage: str, use: Callable[[Path], object], sums: Sums) -> None:
    DAMAGES[damage](sums.store / "part-0.sqlite3")
    with pytest.raises(StartRefused, match=r"cannot be used: it is damaged\. Restore") as refused:
        use(sums.store)
    assert exit_code(refused.value) == 78


class Anything:
    """Pickled by the name of its class."""


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"\x80\x04",
        b"no pickle",
        pickle.dumps(7)[:-1],
        pickle.dumps(7, protocol=0).replace(b"7", b"seven"),
        pickle.dumps(b"pointer")[:-4],
        pickle.dumps(b"pointer").replace(b"C\x07", b"C\xff"),
        pickle.dumps("a text"),
        pickle.dumps(True),
        pickle.dumps(2.5),
        pickle.dumps((1, 2)),
        pickle.dumps(Anything()),
        "no bytes",
    ],
)
def test_a_damaged_state_of_a_step_is_refused_and_nothing_in_it_runs(
    state: bytes | str, sums: Sums
) -> None:
    """A part that resumes with nothing would begin again, with whole budgets."""
    with sums.database() as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')')")
    with sums.database() as database:
        database.execute("UPDATE snaps SET ser_change = ?", (state,))
    with pytest.raises(StartRefused, match="cannot be used: it is damaged"):
        resuming(sums.store)


@pytest.mark.parametrize("value", [0, 255, 70_000, -1, 2**40, b"", b"pointer", b"p" * 70_000])
def test_numbers_and_bytes_are_resumed_with(value: int | bytes, sums: Sums) -> None:
    with sums.database() as database:
        database.execute("UPDATE snaps SET ser_change = ?", (pickle.dumps(value),))
    found = resuming(sums.store)
    assert set({**found.offsets, **found.pointers}.values()) == {value}


@pytest.mark.parametrize("kept_bytes", [0, 512, 4096, 20_000])
def test_a_store_that_cannot_grow_may_be_made_at_the_next_start(
    kept_bytes: int, tmp_path: Path
) -> None:
    with (
        pytest.raises(FuguError, match=r"the disk is full.*Make room") as failed,
        no_file_grows_beyond(kept_bytes),
    ):
        create_store(tmp_path)
    assert exit_code(failed.value) == 1


def test_a_store_that_cannot_be_written_is_whole_and_goes_on_with_room(sums: Sums) -> None:
    sums.leave_behind("a", TOO_MUCH)
    with (
        pytest.raises(FuguError, match=r"the disk is full.*Make room") as failed,
        no_file_grows_beyond(0),
    ):
        forget_unfinished_epochs(sums.store)
    assert exit_code(failed.value) == 1
    assert exit_code(unusable_store(sums.store)) == 1, "bytewax met the same"
    assert forget_unfinished_epochs(sums.store) == 1
