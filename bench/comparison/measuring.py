"""A producer that sends so many records a second: `python -m bench.comparison.measuring`.

    BOOTSTRAP TOPIC PARTITIONS USERS RECORDS_PER_SECOND SECONDS

A process of its own: it must keep time while the bench looks at something else. It prints how many
records it sent.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from bench.child import ROOT, ChildFailed
from bench.comparison.contestants import Contestant, Fugu, Place
from bench.comparison.data import ALPHABET, EPSILON, Truth, Writing, model_of, stream_of
from bench.comparison.environments import PEERS
from bench.comparison.law_check import Checked, check_output
from bench.comparison.topics import Topics
from bench.stream import key_of
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

_DIFFERENT = 100_000
"""Records that are made beforehand, and sent again and again."""
_PAUSE_SECONDS = 0.005


def main(
    bootstrap: str, topic: str, partitions: int, users: int, rate: float, seconds: float
) -> int:
    """Send."""
    records = [
        (user % partitions, key_of(user), value)
        for user, value in islice(stream_of(users, partitions).records(), _DIFFERENT)
    ]
    sent, total = 0, int(rate * seconds)
    with Writing(bootstrap) as writing:
        began = time.perf_counter()
        while sent < total:
            due = min(total, int((time.perf_counter() - began) * rate))
            for number in range(sent, due):
                writing.send(topic, *records[number % _DIFFERENT])
            sent = due
            time.sleep(_PAUSE_SECONDS)
    return sent


if __name__ == "__main__":
    bootstrap, topic, partitions, users, rate, seconds = sys.argv[1:]
    print(main(bootstrap, topic, int(partitions), int(users), float(rate), float(seconds)))


# A contestant's process and all that it starts, measured from outside.
#
# Linux only: CPU time and peak memory come from /proc.


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


# Measurements of one contestant: speed over a full source, latency over a paced one.


_SETTLE_SECONDS = 3.0
_FIRST = 200


@dataclass(frozen=True)
class Source:
    """A full topic, and what is in it (not known for ticks, which are not checked)."""

    topic: str
    records: int
    truths: list[Truth]


@dataclass(frozen=True)
class Latency:
    """Milliseconds from the broker's append of a record to that of its release."""

    records_per_second: float
    records: int
    p50: float
    p99: float
    largest: float
    processors: float
    """Seconds of CPU that it took for each second."""


@dataclass(frozen=True)
class Bench:
    """Hold what all measurements have in common."""

    topics: Topics
    folder: Path
    model: Path
    users: int
    partitions: int
    seconds: float
    warms_up: bool = True

    def speed(
        self, contestant: Contestant, python: Path, source: Source, *, check: bool
    ) -> tuple[Speed, Checked | None]:
        """One run over a full source; its outputs are compared with the law if asked."""
        checked = None
        with (
            self.topics.sink(self.partitions) as sink,
            self._running(contestant, python, source.topic, sink) as watched,
            self.topics.counted(sink, self.partitions) as published,
        ):
            outputs = speed(
                watched,
                published,
                warm_up=contestant.warm_up if self.warms_up else 0.0,
                seconds=self.seconds,
                source_records=source.records / contestant.records_per_output,
            )
            watched.stop()
            if check and contestant.checked:
                checked = check_output(
                    self.topics,
                    sink,
                    source.truths,
                    ConditionalRandomizedResponse(model_of(ALPHABET), EPSILON),
                    ALPHABET,
                    same_partition=contestant.same_partition,
                    pseudonyms=isinstance(contestant, Fugu),
                )
        return _in_records(outputs, contestant.records_per_output), checked

    def latency(self, contestant: Contestant, python: Path, rate: float) -> Latency:
        """While a producer sends `rate` records a second."""
        with (
            self.topics.fresh(
                "paced", self.partitions, message_timestamp_type="LogAppendTime"
            ) as source,
            self.topics.sink(self.partitions) as sink,
            self._running(contestant, python, source, sink) as watched,
            self.topics.counted(sink, self.partitions) as published,
        ):
            self._send_first(source)
            watched.wait_for(lambda now: now >= 1, published)
            # Fugu insists at its start on a sink with times of its own; they say nothing here.
            self.topics.stamp_by_broker(sink)
            length = _SETTLE_SECONDS + self.seconds
            began, start = time.perf_counter(), watched.cost()
            sent = _FIRST + self._pace(source, rate, length)
            took, stop = time.perf_counter() - began, watched.cost()
            watched.wait_for(lambda now: now >= sent, published)
            watched.stop()
            waited = self._waits(source, sink, same_partition=contestant.same_partition)
        p50, p99, largest = np.percentile(waited, [50, 99, 100]).tolist()
        processors = (stop.cpu_seconds - start.cpu_seconds) / took
        return Latency(rate, len(waited), p50, p99, largest, processors)

    def _waits(self, source: str, sink: str, *, same_partition: bool) -> Floats:
        """Return how long records waited, those of the first seconds left out."""
        before = [self.topics.times(source, number) for number in range(self.partitions)]
        after = [self.topics.times(sink, number) for number in range(self.partitions)]
        if same_partition:
            pairs = [
                (came, left[: len(came)])
                for (_, came), (_, left) in zip(before, after, strict=True)
            ]
        else:
            pairs = [(_by_key(before), _by_key(after))]
        if any(len(came) != len(left) for came, left in pairs):
            raise ChildFailed("more or fewer releases than records while latency was measured")
        # The first ones waited for the contestant to start.
        paced = np.sort(np.concatenate([times for _, times in before]))[_FIRST:]
        settled = paced[0] + _SETTLE_SECONDS * 1_000
        return np.concatenate([(left - came)[came >= settled] for came, left in pairs])

    def _send_first(self, source: str) -> None:
        with Writing(self.topics.bootstrap) as writing:
            for _, (user, value) in zip(
                range(_FIRST), stream_of(self.users, self.partitions).records(), strict=False
            ):
                writing.send(source, user % self.partitions, key_of(user), value)

    def _pace(self, source: str, rate: float, seconds: float) -> int:
        numbers = map(str, (self.partitions, self.users, rate, seconds))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "bench.comparison.measuring"),
                *(self.topics.bootstrap, source, *numbers),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ChildFailed(f"the paced producer failed:\n{done.stderr}")
        return int(done.stdout)

    @contextmanager
    def _running(
        self, contestant: Contestant, python: Path, source: str, sink: str
    ) -> Iterator[Watched]:
        with TemporaryDirectory(prefix="contestant-", dir=self.folder) as name:
            folder = Path(name)
            place = Place(self.topics.bootstrap, source, sink, self.model, folder)
            environment = {"PYTHONPATH": str(PEERS), "TMPDIR": name}
            command = contestant.command(python, place)
            with Watched(command, environment, folder / "log") as watched:
                yield watched


def _in_records(outputs: Speed, records_per_output: float) -> Speed:
    """Records of the source, where several make one output."""
    return Speed(
        int(outputs.records * records_per_output),
        outputs.seconds,
        outputs.records_per_second * records_per_output,
        outputs.cpu_seconds_per_million / records_per_output,
        outputs.peak_mebibytes,
    )


def _by_key(partitions: list[tuple[list[bytes], Integers]]) -> Integers:
    """Times of all records, by key; those of one key stay in order."""
    keys = np.array([key for names, _ in partitions for key in names])
    times = np.concatenate([times for _, times in partitions])
    return times[np.argsort(keys, kind="stable")]
