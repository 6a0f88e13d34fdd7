"""A contestant's process and all that it starts, measured from outside.

Linux only: CPU time and peak memory come from /proc.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.child import ROOT, ChildFailed

_LOOK_SECONDS = 0.1
_EXIT_SECONDS = 30
_SILENCE_SECONDS = 90
_TAIL = 2_000


@dataclass(frozen=True)
class Cost:
    """Hold what the whole process tree has cost so far."""

    cpu_seconds: float
    peak_mebibytes: float


@dataclass(frozen=True)
class Speed:
    """From one output to a later one, both after the warm-up."""

    records: int
    seconds: float
    records_per_second: float
    cpu_seconds_per_million: float
    peak_mebibytes: float


class Watched:
    """A running contestant; a context manager that leaves no process behind."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._tree: dict[int, psutil.Process] = {}

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """`kill -9` for all of them."""
        for process in self._family():
            _end(process)
        self._process.wait()

    def wait_for(self, enough: Callable[[int], bool], published: Callable[[], int]) -> int:
        """Return how many are published once they are enough; fail if it ends, or nothing comes."""
        last, deadline = -1, time.monotonic() + _SILENCE_SECONDS
        while not enough(now := published()):
            if now != last:
                last, deadline = now, time.monotonic() + _SILENCE_SECONDS
            if self._process.poll() is not None:
                raise ChildFailed(f"ended after {now} records:\n{self._tail()}")
            if time.monotonic() > deadline:
                raise ChildFailed(f"nothing more came after {now} records:\n{self._tail()}")
            time.sleep(_LOOK_SECONDS)
        return now

    @property
    def said(self) -> str:
        """Return what it has logged."""
        return self._log.read_text(errors="replace")

    def cost(self) -> Cost:
        """CPU time of all processes, and the sum of the peaks of their memory."""
        seconds, peak = 0.0, 0
        for process in self._family():
            try:
                times = process.cpu_times()
                status = Path(f"/proc/{process.pid}/status").read_text()
            except (psutil.Error, OSError):
                continue
            seconds += times.user + times.system
            found = re.search(r"VmHWM:\s+(\d+) kB", status)
            peak += int(found[1]) * 1024 if found else 0
        return Cost(seconds, peak / 2**20)

    def stop(self) -> None:
        """SIGTERM, and whatever is still there after half a minute is killed."""
        self._family()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _family(self) -> list[psutil.Process]:
        """The process and its descendants, also those that lost their parent."""
        try:
            root = psutil.Process(self._process.pid)
            for process in (root, *root.children(recursive=True)):
                self._tree.setdefault(process.pid, process)
        except psutil.NoSuchProcess:
            pass
        return [process for process in self._tree.values() if process.is_running()]

    def _tail(self) -> str:
        return self.said[-_TAIL:]


def speed(
    watched: Watched,
    published: Callable[[], int],
    *,
    warm_up: float,
    seconds: float,
    source_records: float,
) -> Speed:
    """Measure so many seconds, after a warm-up of so many seconds since the first output.

    It begins and ends with an output, and ends early if the source does.
    """
    watched.wait_for(lambda now: now > 0, published)
    ready = time.perf_counter() + warm_up
    before = watched.wait_for(lambda _: time.perf_counter() > ready, published)
    first = watched.wait_for(lambda now: now > before, published)
    began, start = time.perf_counter(), watched.cost()
    end = began + seconds
    before = watched.wait_for(
        lambda now: now >= source_records or time.perf_counter() > end, published
    )
    last = before
    if before < source_records:
        last = watched.wait_for(lambda now: now > before, published)
    ended, stop = time.perf_counter(), watched.cost()
    records, took = last - first, ended - began
    if records <= 0 or took < seconds / 3:
        raise ChildFailed(
            f"only {took:.1f} s were measured, for {records:,} records: write more to the source"
        )
    return Speed(
        records,
        took,
        records / took,
        (stop.cpu_seconds - start.cpu_seconds) / records * 1e6,
        stop.peak_mebibytes,
    )


def _end(process: psutil.Process) -> None:
    try:
        process.kill()
        process.wait(_EXIT_SECONDS)
    except psutil.Error:
        pass
