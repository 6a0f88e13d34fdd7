"""Stop on signals: at once until a pipeline begins, then gracefully if that does not take long.

A pipeline that stops by itself may start again in its place.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from fugu.dataflows.kafka.source import StopFlag

GRACE_SECONDS = 25.0
"""Then a process is killed. Container platforms kill after 30 s."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger(__name__)


def stop_on_signals() -> StopFlag:
    """Return a flag that SIGTERM and SIGINT set."""
    stop = StopFlag()
    _on_signals(stop.request)
    return stop


@dataclass
class Starting:
    """End the process at once on SIGTERM and SIGINT, until the pipeline has `begun`.

    Steps may be compiled for half a minute before. Until then no record is read or published, and
    rows and offsets stay as the last stop has left them; the state may have been claimed.
    """

    pipeline: str
    stop: StopFlag = field(default_factory=StopFlag)
    asked: StopFlag = field(default_factory=StopFlag, init=False)
    """Requested by signals alone, and not by the pipeline itself."""

    def __post_init__(self) -> None:
        _on_signals(self._leave)

    def begun(self) -> None:
        """Stop gracefully from now on."""
        _on_signals(self._end)

    def _end(self) -> None:
        self.asked.request()
        self.stop.request()

    def _leave(self) -> None:
        log.info(
            "pipeline %s: stopped before it was ready; the next start goes on from here",
            self.pipeline,
        )
        os._exit(0)


def start_again(asked: StopFlag) -> None:
    """Replace this process by one with the same arguments and number, unless asked to stop.

    Signals that come from here on wait for the new process.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    if asked.requested:
        return
    log.info("starting again")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _on_signals(do: Callable[[], None]) -> None:
    for stop_signal in _SIGNALS:
        signal.signal(stop_signal, lambda *_: do())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
