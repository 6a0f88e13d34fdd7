"""Mend bytewax's recovery store before it is used.

bytewax 0.21.1 writes the snapshots of an epoch one after the other, and a process that is killed in
between leaves some of them behind. The next run repeats the epoch and overwrites them, except for a
step that has no items in the repetition: then the run after that resumes with a leftover that is
ahead of the source, and what lies between is applied, or passed over, twice. So whatever belongs to
an epoch that will be repeated is deleted first.
"""

import pickle
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from bytewax.recovery import init_db_dir

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.base.native_stderr import native_stderr_hidden

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


def create_store(store: Path) -> None:
    """Create an empty store; on a full disk bytewax panics, and says so on stderr by itself."""
    try:
        with native_stderr_hidden():
            init_db_dir(store, 1)
    except KeyboardInterrupt:
        raise
    except BaseException:
        raise unusable_store(store) from None


def recovery_parts(store: Path) -> list[Path]:
    """Return the files of a recovery store; Fugu creates one."""
    return list(store.glob("part-*.sqlite3"))


def forget_unfinished_epochs(store: Path) -> int:
    """Delete snapshots at or after the epoch that bytewax resumes at; return how many."""
    try:
        [part] = recovery_parts(store)
        with closing(sqlite3.connect(part)) as database, database:
            return database.execute(_FORGET).rowcount
    except (ValueError, sqlite3.Error):
        raise unusable_store(store) from None


@dataclass(frozen=True)
class Resuming:
    """Hold what the parts of a dataflow resume with, by step and part."""

    offsets: Mapping[tuple[str, str], int]
    pointers: Mapping[tuple[str, str], bytes]


def resuming(store: Path) -> Resuming:
    """Return the offsets of sources and sinks, and the pointers of stages; the store is only read.

    What is neither a number nor bytes is left out.
    """
    try:
        [part] = recovery_parts(store)
        with closing(_opened_to_read(part)) as database:
            newest = {(step, key): state for step, key, state in database.execute(_NEWEST)}
    except (ValueError, sqlite3.Error):
        raise unusable_store(store) from None
    found = {name: _plain(state) for name, state in newest.items() if state is not None}
    return Resuming(
        {name: state for name, state in found.items() if isinstance(state, int)},
        {name: state for name, state in found.items() if isinstance(state, bytes)},
    )


def _opened_to_read(part: Path) -> sqlite3.Connection:
    """Open a store without making a file beside it, unless somebody writes to it."""
    is_written = part.with_name(f"{part.name}-wal").exists()
    how = "mode=ro" if is_written else "immutable=1"
    return sqlite3.connect(f"{part.resolve().as_uri()}?{how}", uri=True)


class _NothingButData(pickle.Unpickler):
    """Read data without running anything."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _plain(state: bytes) -> object:
    try:
        return _NothingButData(BytesIO(state)).load()
    except (pickle.UnpicklingError, EOFError):
        return None


def unusable_store(store: Path) -> StartRefused:
    """Return what is raised when the recovery store cannot be read or written."""
    return StartRefused(
        f"the recovery store {store} cannot be used: it is damaged, or the disk is full. Make room "
        "and start again; if it is damaged, restore the state directory from a backup, or "
        f"{NEW_PIPELINE}."
    )
