"""Own a state as its one supervisor, once processes that a predecessor left behind are gone."""

import logging
import time
from collections.abc import Callable

from fugu.dataflows.base.errors import StateInUse
from fugu.dataflows.flows.state_directories import all_directories, root_directory
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.stopping import GRACE_SECONDS
from fugu.dataflows.state.directory import StateDirectory

PATIENCE_SECONDS = GRACE_SECONDS + 5
"""Longer than a process goes on without its supervisor."""
_TRY_SECONDS = 0.1

log = logging.getLogger(__name__)


def own(file: PipelineFile, stop_requested: Callable[[], bool]) -> None:
    """Become the only supervisor until the end of the process; `StateInUse` if others do not stop.

    The shards are left to the processes that will run them.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    _lock(root_directory(file), deadline, stop_requested)
    for directory in all_directories(file):
        _lock(directory, deadline, stop_requested)
        directory.unlock()


def _lock(directory: StateDirectory, deadline: float, stop_requested: Callable[[], bool]) -> None:
    waiting = False
    while True:
        try:
            return directory.lock()
        except StateInUse:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or stop_requested():
                raise
        if not waiting:
            waiting = True
            log.info(
                "state directory %s is in use; waiting up to %.0f s for its owner to stop",
                directory.path,
                remaining,
            )
        time.sleep(_TRY_SECONDS)
