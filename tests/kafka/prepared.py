"""Start `fugu` in a process of its own that has imported everything already.

A server forks it, so that hundreds of starts do not import a thousand modules each. Memory,
signals, files, exit codes are those of any process. What decides at an import, as FUGU_CACHE_DIR
does, needs a process from nothing: `running(..., command=(FUGU,))`.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "fugu.dataflows.commands.cli.fugu",
        "fugu.dataflows.kafka.native.client",
        "fugu.dataflows.run.copying",
        "fugu.dataflows.run.run",
        "fugu.dataflows.commands.validate",
        "fugu.dataflows.commands.state",
        "tests.faults.hurried",
        "tests.faults.killed_inside",
        "tests.kafka.warmed",
        __name__,
    ]
)


class PreparedProcess:
    """A process with those parts of `subprocess.Popen` that tests use."""

    def __init__(self, started: ForkServerProcess) -> None:
        self._started = started
        self.pid = started.pid or 0
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None:
            self.returncode = self._started.exitcode
            if self.returncode is not None:
                self._started.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code."""
        if self.returncode is None:
            self._started.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("fugu", timeout or 0)
        return code

    def send_signal(self, how: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, how)

    def kill(self) -> None:
        """`kill -9`."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to stop."""
        self.send_signal(signal.SIGTERM)


def start(
    arguments: Sequence[str | Path],
    environment: Mapping[str, str],
    stdout: Path,
    stderr: Path,
    module: str = "fugu.__main__",
) -> PreparedProcess:
    """Start `python -m MODULE ARGUMENTS`; what it prints goes to files."""
    given = [str(argument) for argument in arguments]
    process = _SERVER.Process(
        target=_become, args=(module, given, dict(environment), os.getcwd(), stdout, stderr)
    )
    process.start()
    return PreparedProcess(process)


def _become(
    module: str,
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    stdout: Path,
    stderr: Path,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, place, how in (
        (0, Path(os.devnull), os.O_RDONLY),
        (1, stdout, os.O_WRONLY),
        (2, stderr, os.O_WRONLY),
    ):
        opened = os.open(place, how | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["fugu", *arguments]
    sys.orig_argv = [sys.executable, "-m", module, *arguments]
    import_module(module).main()
