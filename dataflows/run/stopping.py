"""Stop on signals, gracefully if that does not take too long."""

import signal

from fugu.dataflows.kafka.source import StopFlag

GRACE_SECONDS = 25.0
"""Then a process is killed. Container platforms kill after 30 s."""


def stop_on_signals() -> StopFlag:
    """Return a flag that SIGTERM and SIGINT set."""
    stop = StopFlag()
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, lambda *_: stop.request())
    return stop
