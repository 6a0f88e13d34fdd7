"""Start and watch one supervised process, and start it again when it dies."""

import logging
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from threading import Thread

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from fugu.dataflows.monitoring.health import Report
from fugu.dataflows.run.back_off import BackOff

_SILENCE_SECONDS = 10.0
_STUCK_SECONDS = 300.0

log = logging.getLogger(__name__)


class Child:
    """Run `command` with its end of the link as stdin; `name` is what the log calls it."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.restarts = 0
        self.is_hopeless = False
        self.is_graceful = True
        """Says whether nothing has to be repeated after its last end."""
        self.report: Report | None = None
        self._command = command
        self._back_off = BackOff()
        self._process: subprocess.Popen[bytes] | None = None
        self._heard_at = self._started_at = self._next_start = 0.0

    def start(self) -> None:
        """Start the process."""
        ours, its = socket.socketpair()
        self.report, self._started_at = None, time.monotonic()
        self._heard_at = self._started_at
        with its:
            self._process = subprocess.Popen(
                self._command, stdin=its.fileno(), start_new_session=True
            )
        Thread(target=self._listen, args=(ours,), name=self.name, daemon=True).start()
        log.info("%s: started, process id %d", self.name, self._process.pid)

    def keep_running(self) -> None:
        """Look after it: note its end, and start it again when it is time."""
        if self._process is None:
            if not self.is_hopeless and time.monotonic() >= self._next_start:
                self.restarts += 1
                self.start()
            return
        code = self._process.poll()
        if code is None:
            return
        self._end(code)
        if self.is_hopeless:
            log.error("%s: ended (exit code %d), and no restart would help", self.name, code)
            return
        life = time.monotonic() - self._started_at
        wait = self._back_off.after(life)
        self._next_start = time.monotonic() + wait
        log.error(
            "%s: ended by itself (%s) after %.0f s; it starts again in %g s",
            self.name,
            _how(code),
            life,
            wait,
        )

    def ask_to_stop(self) -> None:
        """Send SIGTERM, if it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def has_ended(self) -> bool:
        """Return whether it does not run any more."""
        if self._process is not None and (code := self._process.poll()) is not None:
            self._end(code)
        return self._process is None

    def kill(self) -> None:
        """Kill it, if it runs, as `kill -9` does."""
        if self._process is not None and not self.has_ended():
            log.error("%s: has not stopped in time and is killed", self.name)
            self._process.kill()
            self._end(self._process.wait())

    def problem(self) -> str | None:
        """Return why it does no work now; None if all is well."""
        if self._process is None:
            return "not running"
        report, silence = self.report, time.monotonic() - self._heard_at
        if report is None:
            return "starting"
        return f"no report for {silence:.0f} s" if silence > _SILENCE_SECONDS else report.problem

    def stuck(self) -> str | None:
        """Return why only a restart of everything would help; None if it would not."""
        if self._process is None:
            return None
        report, silence = self.report, time.monotonic() - self._heard_at
        if silence > _STUCK_SECONDS:
            return f"no report for {silence:.0f} s"
        return None if report is None else report.stuck

    def degraded(self) -> list[str]:
        """Return what is to be acted on although it does its work."""
        report = self.report
        return [] if report is None else report.degraded

    def waiting(self) -> list[str]:
        """Return what it waits for, although nothing is wrong."""
        report = self.report
        return [] if report is None else report.waiting

    def _end(self, code: int) -> None:
        """Note its end. One that SIGTERM ends with -15 had not begun: it did not handle signals
        yet."""
        if code != -signal.SIGTERM:
            self.is_graceful = code == 0
        self.is_hopeless = code == NO_RESTART_HELPS
        self._process = self.report = None

    def _listen(self, link: socket.socket) -> None:
        with link, link.makefile("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):  # a process that is killed may leave half of one
                    self.report, self._heard_at = Report.read(line), time.monotonic()


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
