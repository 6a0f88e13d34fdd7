"""Link a supervised process to its supervisor: a socket in place of stdin.

Reports go up; nothing comes down but the end of the link, which the operating system makes when the
supervisor is gone, however it went. No process outlives its supervisor for long.
"""

import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from select import select
from threading import Thread, Timer

from fugu.dataflows.monitoring.health import Report
from fugu.dataflows.run.stopping import GRACE_SECONDS

REPORT_SECONDS = 1.0

log = logging.getLogger(__name__)


class Link:
    """Send reports from a thread of its own, and ask the process to stop when the link ends."""

    def __init__(self, report: Callable[[], Report], stop: Callable[[], None]) -> None:
        self._report, self._stop = report, stop
        self._socket = socket.socket(fileno=os.dup(sys.stdin.fileno()))

    def start(self) -> None:
        """Begin to report."""
        Thread(target=self._run, name="supervisor-link", daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while not select([self._socket], [], [], REPORT_SECONDS)[0]:
                self._socket.sendall(self._report().line)
        log.warning("the supervisor is gone; stopping")
        end = Timer(GRACE_SECONDS, os._exit, [1])
        end.daemon = True
        end.start()
        self._stop()
