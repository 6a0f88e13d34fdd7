"""The baseline of the state store: the whole table, pickled into one row of SQLite.

That is what bytewax does with the state of a key at every epoch, and it is done here in bytewax's
own recovery store, with its table, its journal mode and its statement.
"""

import pickle
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bytewax.recovery import init_db_dir

from fugu.dataflows.state.recovery import recovery_parts

_INSERT = (
    "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) VALUES ('step', 'key', ?, ?)"
)
_FORGET = "DELETE FROM snaps WHERE snap_epoch < ?"
_NEWEST = "SELECT ser_change FROM snaps ORDER BY snap_epoch DESC LIMIT 1"


@dataclass(frozen=True)
class PickledState:
    """Seconds per epoch and per restart, one of each a round."""

    epochs: list[float]
    restarts: list[float]
    bytes: int


def measure_pickled(table: object, folder: Path, rounds: int) -> PickledState:
    """Measure epochs that write everything, whatever changed. Deleting old rows is not counted."""
    folder.mkdir()
    init_db_dir(folder, 1)
    [part] = recovery_parts(folder)
    epochs, restarts = [], []
    for epoch in range(rounds):
        with closing(sqlite3.connect(part)) as database:
            began = time.perf_counter()
            content = pickle.dumps(table)
            with database:
                database.execute(_INSERT, (epoch, content))
            epochs.append(time.perf_counter() - began)
            with database:
                database.execute(_FORGET, (epoch,))
        size = len(content)
        del content
        with closing(sqlite3.connect(part)) as database:
            began = time.perf_counter()
            [stored] = database.execute(_NEWEST).fetchone()
            pickle.loads(stored)
            restarts.append(time.perf_counter() - began)
            del stored
    return PickledState(epochs, restarts, size)
