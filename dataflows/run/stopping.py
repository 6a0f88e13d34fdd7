"""Stop on signals: at once until a pipeline begins, then gracefully if that does not take long."""

import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from fugu.dataflows.kafka.source import StopFlag

GRACE_SECONDS = 25.0
"""Then a process is killed. Container platforms kill after 30 s."""

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

    def __post_init__(self) -> None:
        _on_signals(self._leave)

    def begun(self) -> None:
        """Stop gracefully from now on."""
        _on_signals(self.stop.request)

    def _leave(self) -> None:
        log.info(
            "pipeline %s: stopped before it read a record; the state is as it was", self.pipeline
        )
        os._exit(0)


def _on_signals(do: Callable[[], None]) -> None:
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, lambda *_: do())
