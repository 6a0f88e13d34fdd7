"""Mend bytewax's recovery store before it is used.

bytewax 0.21.1 writes the snapshots of an epoch one after the other, and a process that is killed in
between leaves some of them behind. The next run repeats the epoch and overwrites them, except for a
step that has no items in the repetition: then the run after that resumes with a leftover that is
ahead of the source, and what lies between is applied, or passed over, twice. So whatever belongs to
an epoch that will be repeated is deleted first.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickletools import genops

from bytewax.recovery import init_db_dir

from fugu.dataflows.base.errors import NEW_PIPELINE, FuguError, StartRefused, native_stderr_hidden

_RESUMES_AT = """
    (
        SELECT CASE
            WHEN (SELECT COUNT(*) FROM fronts WHERE fronts.ex_num = exs.ex_num) < exs.worker_count
            THEN exs.resume_epoch
            ELSE (SELECT MIN(worker_frontier) FROM fronts WHERE fronts.ex_num = exs.ex_num)
        END
        FROM exs ORDER BY exs.ex_num DESC LIMIT 1
    )
"""
_FORGET = f"DELETE FROM snaps WHERE snap_epoch >= {_RESUMES_AT}"
_NEWEST = f"""
    SELECT step_id, state_key, ser_change FROM snaps
    WHERE snap_epoch < COALESCE({_RESUMES_AT}, 0) ORDER BY snap_epoch
"""


_TABLES = "parts", "exs", "fronts", "commits", "snaps"
_FRAME = {"PROTO", "FRAME", "MEMOIZE", "STOP"}
_NUMBERS_AND_BYTES = {
    *("BININT", "BININT1", "BININT2", "LONG1"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
}
"""List the errors of SQLite that waiting does not cure, and neither does room."""
_PRIMARY = 0xFF
"""Mask the code of an error of SQLite without its details."""


def create_store(store: Path) -> None:
    """Create an empty store; on a full disk bytewax panics, and says so on stderr by itself."""
    try:
        with native_stderr_hidden():
            init_db_dir(store, 1)
    except KeyboardInterrupt:
        raise
    except BaseException:
        raise _unwritten(store) from None


def recovery_parts(store: Path) -> list[Path]:
    """Return the files of a recovery store; Fugu creates one."""
    return list(store.glob("part-*.sqlite3"))


def forget_unfinished_epochs(store: Path) -> int:
    """Delete snapshots at or after the epoch that bytewax resumes at; return how many."""
    with _refusing(store), closing(sqlite3.connect(_part(store))) as database, database:
        return database.execute(_FORGET).rowcount


@dataclass(frozen=True)
class Resuming:
    """Hold what the parts of a dataflow resume with, by step and part."""

    offsets: Mapping[tuple[str, str], int]
    pointers: Mapping[tuple[str, str], bytes]


def resuming(store: Path) -> Resuming:
    """Return the offsets of sources and sinks, and the pointers of stages; the store is only read.

    Raises `StartRefused` where it is damaged.
    """
    with _refusing(store):
        with closing(_opened_to_read(_part(store))) as database:
            newest = {(step, key): state for step, key, state in database.execute(_NEWEST)}
        found = {name: _plain(state) for name, state in newest.items() if state is not None}
    return Resuming(
        {name: state for name, state in found.items() if isinstance(state, int)},
        {name: state for name, state in found.items() if isinstance(state, bytes)},
    )


def unusable_store(store: Path) -> FuguError:
    """Return what is raised after bytewax could not use a store: why is found out by reading it."""
    try:
        with _refusing(store), closing(_opened_to_read(_part(store))) as database:
            if database.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                return damaged_store(store)
            for table in _TABLES:
                database.execute(f"SELECT * FROM {table}").fetchall()
    except FuguError as error:
        return error
    return _unwritten(store)


def damaged_store(store: Path) -> StartRefused:
    """Return what is raised where a store does not hold what bytewax wrote."""
    return StartRefused(
        f"the recovery store {store} cannot be used: it is damaged. Restore the state directory "
        f"from a backup, or {NEW_PIPELINE}."
    )


def _unwritten(store: Path) -> FuguError:
    return FuguError(
        f"the recovery store {store} cannot be written or read: the disk is full, or has an error. "
        "Make room or repair the disk, and start again."
    )


@contextmanager
def _refusing(store: Path) -> Iterator[None]:
    """Tell damage, which stays, from what may be over at the next start."""
    try:
        yield
    except sqlite3.Error as error:
        raise (damaged_store if _is_damage(error) else _unwritten)(store) from None
    except ValueError:
        raise damaged_store(store) from None


def _is_damage(error: sqlite3.Error) -> bool:
    """Return whether a store is to blame; text that is no UTF-8, and its like, has no code."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    short = code == sqlite3.SQLITE_IOERR_SHORT_READ
    return code is None or short or code & _PRIMARY in _DAMAGE


def _part(store: Path) -> Path:
    [part] = recovery_parts(store)
    return part


def _opened_to_read(part: Path) -> sqlite3.Connection:
    """Open a store without making a file beside it, unless somebody writes to it."""
    is_written = part.with_name(f"{part.name}-wal").exists()
    how = "mode=ro" if is_written else "immutable=1"
    return sqlite3.connect(f"{part.resolve().as_uri()}?{how}", uri=True)


def _plain(state: object) -> int | bytes:
    """Return the one number, or the bytes, that a pickle holds, and run nothing; `ValueError` if it
    is anything else."""
    if not isinstance(state, bytes):
        raise ValueError("a state that is not written as bytes")
    found: list[int | bytes] = []
    for code, content, _ in genops(state):
        if code.name in _NUMBERS_AND_BYTES and isinstance(content, int | bytes):
            found.append(content)
        elif code.name not in _FRAME:
            raise ValueError(f"a pickle with {code.name}")
    [value] = found
    return value
