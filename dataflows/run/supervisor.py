"""Keep processes running until told to stop, or until one of them cannot be helped."""

import logging
import time
from collections.abc import Callable, Sequence

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from fugu.dataflows.run.child import Child
from fugu.dataflows.run.stopping import GRACE_SECONDS

_LOOK_SECONDS = 0.1

log = logging.getLogger(__name__)


def keep_running(
    children: Sequence[Child], stop_requested: Callable[[], bool], look: Callable[[], None]
) -> int:
    """Run them all; return the exit code. `look` is called ten times a second."""
    for child in children:
        child.start()
    while not stop_requested() and not any(child.is_hopeless for child in children):
        time.sleep(_LOOK_SECONDS)
        for child in children:
            child.keep_running()
        look()
    hopeless = [child.name for child in children if child.is_hopeless]
    stopped(children)
    if hopeless:
        log.error("all stopped, because no restart would help %s: see above", "; ".join(hopeless))
        return NO_RESTART_HELPS
    unsafe = [child.name for child in children if not child.is_graceful]
    if unsafe:
        log.error("stopped; without a graceful end: %s", "; ".join(unsafe))
        return 1
    log.info("all processes have stopped")
    return 0


def stopped(children: Sequence[Child]) -> None:
    """Stop them gracefully, if they do not take too long."""
    for child in children:
        child.ask_to_stop()
    deadline = time.monotonic() + GRACE_SECONDS
    while not all(child.has_ended() for child in children) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    for child in children:
        child.kill()
