"""A process that reads one topic and writes others, measured from outside while it does.

Linux only: CPU time so far and peak memory come from /proc. (`ru_maxrss` would not do: it begins
with the memory of the process that started the child.)
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LOOK_SECONDS = 0.05
_EXIT_SECONDS = 60
_SILENCE_SECONDS = 120
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class ChildFailed(RuntimeError):
    """A measured process ended early, stalled, or exited with an error; the text has its log."""


@dataclass(frozen=True)
class Measured:
    """From the first to the last output, except for `start_cpu_seconds`, which are before."""

    records_per_second: float
    cpu_seconds_per_million: float
    peak_mebibytes: float
    start_cpu_seconds: float


Watch = Callable[[int, int], None]
"""Called at every look with the process id and how many records are published."""


def measure(
    arguments: Sequence[str],
    log: Path,
    records: int,
    published: Callable[[], int],
    *,
    watch: Watch = lambda process, published: None,
    look_seconds: float = _LOOK_SECONDS,
) -> Measured:
    """Run `python ARGUMENTS` until `records` are published, then stop it with SIGTERM."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )

    def wait_for(records: int) -> tuple[int, float, float]:
        """(published, wall clock, CPU seconds) once at least so many records are published."""
        before, deadline = 0, time.monotonic() + _SILENCE_SECONDS
        while (now := published()) < records:
            if now > before:
                before, deadline = now, time.monotonic() + _SILENCE_SECONDS
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace")
                raise ChildFailed(f"ended or stalled after {now} of {records} records:\n{said}")
            watch(process.pid, now)
            time.sleep(look_seconds)
        watch(process.pid, now)
        return now, time.perf_counter(), _cpu_seconds(process.pid)

    try:
        first, began, start_cpu = wait_for(1)
        last, ended, _ = wait_for(records)
        process.send_signal(signal.SIGTERM)
        total_cpu, peak = _reap(process)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise ChildFailed(f"exit code {process.returncode}:\n{log.read_text(errors='replace')}")
    if last != records:
        raise ChildFailed(f"published {last} records instead of {records}")
    rest = records - first
    if rest <= 0:
        raise ChildFailed("everything came out between two looks: measure more records")
    return Measured(
        records_per_second=rest / (ended - began),
        cpu_seconds_per_million=(total_cpu - start_cpu) / rest * 1e6,
        peak_mebibytes=peak / 2**20,
        start_cpu_seconds=start_cpu,
    )


def _reap(process: "subprocess.Popen[bytes]") -> tuple[float, int]:
    """CPU seconds of the whole life, and the largest resident memory in bytes."""
    peak, deadline = 0, time.monotonic() + _EXIT_SECONDS
    while True:
        peak = max(peak, _peak_bytes(process.pid))
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime, peak
        if time.monotonic() > deadline:
            raise ChildFailed(f"did not stop within {_EXIT_SECONDS} s of SIGTERM")
        time.sleep(_LOOK_SECONDS)


def _cpu_seconds(pid: int) -> float:
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = after_name[11:13]
    return (int(user) + int(system)) / _TICKS_PER_SECOND


def _peak_bytes(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 if found else 0
