"""Supervise processes that fail, hang or lose their supervisor: small ones, no Kafka."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from fugu.dataflows.run import supervisor
from fugu.dataflows.run.child import Child
from fugu.dataflows.run.supervisor import keep_running

PATIENCE_SECONDS = 60
GRACEFUL = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
open({mark!r}, "w").close()
time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({mark!r}, "w").close()
time.sleep(600)
"""
HOPELESS = """
import os, sys, time
while not os.path.exists({mark!r}):
    time.sleep(0.01)
sys.exit(78)
"""
DIES_ONCE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if not os.path.exists({mark!r}):
    open({mark!r}, "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
open({mark!r} + ".again", "w").close()
time.sleep(600)
"""
LINKED = """
import threading
from fugu.dataflows.monitoring.health import Report
from fugu.dataflows.run.link import Link
stop = threading.Event()
Link(lambda: Report(partitions=[5]), stop.set).start()
stop.wait()
open({mark!r}, "w").close()
"""
SUPERVISOR = """
import sys, time
from fugu.dataflows.run.child import Child
child = Child("process 0", [sys.executable, "-c", {script!r}])
child.start()
while child.report is None:
    time.sleep(0.01)
print(child.report.partitions, flush=True)
time.sleep(600)
"""


def child(number: int, script: str, mark: Path) -> Child:
    return Child(f"process {number}", [sys.executable, "-c", script.format(mark=str(mark))])


def once(there: Path) -> Callable[[], bool]:
    deadline = time.monotonic() + PATIENCE_SECONDS

    def look() -> bool:
        assert time.monotonic() < deadline
        return there.exists()

    return look


def nothing() -> None:
    pass


def test_a_process_that_dies_starts_again_while_the_other_runs_on(tmp_path: Path) -> None:
    dying = child(0, DIES_ONCE, tmp_path / "died")
    steady = child(1, GRACEFUL, tmp_path / "ready")
    assert keep_running([dying, steady], once(tmp_path / "died.again"), nothing) == 0
    assert (dying.restarts, steady.restarts) == (1, 0)


def test_where_no_restart_helps_all_others_stop_gracefully(tmp_path: Path) -> None:
    steady = child(1, GRACEFUL, tmp_path / "ready")
    hopeless = child(0, HOPELESS, tmp_path / "ready")
    assert keep_running([hopeless, steady], lambda: False, nothing) == NO_RESTART_HELPS
    assert (hopeless.restarts, hopeless.is_graceful) == (0, False)
    assert steady.is_graceful


def test_a_process_that_does_not_stop_is_killed_and_tells_in_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.3)
    stubborn = child(0, STUBBORN, tmp_path / "ready")
    assert keep_running([stubborn], once(tmp_path / "ready"), nothing) == 1
    assert not stubborn.is_graceful


def test_a_stop_while_a_dead_process_waits_is_not_graceful(tmp_path: Path) -> None:
    dying = Child("process 0", [sys.executable, "-c", "import sys; sys.exit(1)"])
    assert keep_running([dying], lambda: not dying.is_graceful, nothing) == 1
    assert dying.problem() == "not running"


def test_processes_stop_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    script = LINKED.format(mark=str(tmp_path / "stopped"))
    command = [sys.executable, "-c", SUPERVISOR.format(script=script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"[5]\n"
        process.send_signal(signal.SIGKILL)
    stopped = once(tmp_path / "stopped")
    while not stopped():
        time.sleep(0.01)
