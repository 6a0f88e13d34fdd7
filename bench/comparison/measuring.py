"""Measurements of one contestant: speed over a full source, latency over a paced one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.child import ROOT, ChildFailed
from bench.comparison.contestants import Contestant, Fugu, Place
from bench.comparison.data import ALPHABET, EPSILON, Truth, Writing, model_of, stream_of
from bench.comparison.environments import PEERS
from bench.comparison.law_check import Checked, check_output
from bench.comparison.topics import Topics
from bench.comparison.watched import Speed, Watched, speed
from bench.stream import key_of
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

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
                *(sys.executable, "-m", "bench.comparison.paced"),
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
