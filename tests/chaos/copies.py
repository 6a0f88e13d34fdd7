"""The processes that run one pipeline, which are killed, paused, and more or fewer of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from fugu.dataflows.copies.instance import VARIABLE
from tests.chaos.clocks import wrong_clock
from tests.faults.feeding import PARTITIONS
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE
from tests.kafka.prepared import PreparedProcess, start

Store = Literal["disk", "kafka"]
STOP_SECONDS = 60
BACK_OFF_SECONDS = 1.0
HURRIED = "tests.faults.hurried"


class Refused(AssertionError):
    """A copy ended in a way that no restart would help; the text is the end of its log."""


@dataclass
class Copy:
    """One process, and what it is started with again."""

    pipeline: Path
    arguments: Sequence[str]
    log: Path
    name: str | None = None
    process: PreparedProcess | subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self, clock: str | None = None) -> None:
        """Start it, or start it again; with a clock that is wrong by so much."""
        environment = {**os.environ, SECRET_VARIABLE: SECRET}
        if self.name is not None:
            environment[VARIABLE] = self.name
        given = ["run", str(self.pipeline), *self.arguments]
        if clock is None:
            self.process = start(given, environment, Path(os.devnull), self.log, HURRIED)
            return
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", HURRIED, *given],
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=environment | wrong_clock(clock),
            )

    def end(self) -> None:
        """Ask it to stop, which must take it less than a grace period.

        Where the group gives its partitions away in that moment, its last cut is refused, and
        others make that again: no failure.
        """
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        # A copy that was asked to stop before it handles signals ends by the signal.
        if code not in (0, -signal.SIGTERM) and not (code == 1 and leaves_a_cut(self.tail())):
            raise Refused(f"a copy stopped with {code}:\n{self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


class Copies:
    """Run a pipeline in several processes, and start again what ends by itself, as a kubelet does.

    With `store: disk` each process has its part of the shards, and their number changes as an
    operator changes it: all stop, and others start. With `store: kafka` copies come and go. They
    take turns with files of the pipeline, which differ in how Kafka is reached, and who is warm;
    those of the first have names that they keep.
    """

    def __init__(self, pipelines: Sequence[Path], store: Store, count: int) -> None:
        self._pipelines = pipelines
        self._store = store
        self._copies: list[Copy] = []
        self._started = 0
        self._ended: dict[int, float] = {}
        self.restarts = 0
        self.scale(count)

    def __len__(self) -> int:
        return len(self._copies)

    def scale(self, count: int) -> None:
        """Run so many copies from now on."""
        if self._store == "disk":
            self.stop()
        while len(self._copies) > count:
            self._copies.pop().end()
        while len(self._copies) < count:
            self._copies.append(self._copy(len(self._copies), count))

    def kill(self, number: int) -> None:
        """`kill -9`; it is started again at once."""
        copy = self._copies[number]
        copy.process.kill()
        copy.process.wait()
        copy.start()

    def pause(self, number: int) -> None:
        """Stop a copy in the middle of what it does."""
        self._copies[number].process.send_signal(signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        """Let a copy that was paused go on, as if no time had passed."""
        self._copies[number].process.send_signal(signal.SIGCONT)

    def restart(self, number: int, clock: str | None = None) -> None:
        """Stop a copy gracefully, and start it again, perhaps with a wrong clock."""
        self._copies[number].end()
        self._copies[number].start(clock)

    def tend(self) -> None:
        """Start again what has ended by itself a second ago; `Refused` where that cannot help."""
        now = time.monotonic()
        for number, copy in enumerate(self._copies):
            code = copy.process.poll()
            if code is None:
                self._ended.pop(number, None)
                continue
            if code == NO_RESTART_HELPS:
                raise Refused(f"copy {number} was refused:\n{copy.tail()}")
            if now - self._ended.setdefault(number, now) > BACK_OFF_SECONDS:
                self.restarts += 1
                copy.start()

    def stop(self) -> None:
        """Stop all of them gracefully."""
        for copy in self._copies:
            copy.process.terminate()
        for copy in self._copies:
            copy.end()
        self._copies.clear()

    def abandon(self) -> None:
        """End whatever still runs."""
        for copy in self._copies:
            copy.process.kill()
            copy.process.wait()

    def tails(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(f"--- copy {n}:\n{copy.tail()}" for n, copy in enumerate(self._copies))

    def _copy(self, number: int, count: int) -> Copy:
        arguments: list[str] = []
        if self._store == "disk":
            for shard in range(number, PARTITIONS, count):
                arguments += ["--shard", f"{shard}/{PARTITIONS}"]
        self._started += 1
        turn = number % len(self._pipelines)
        pipeline = self._pipelines[turn]
        log = pipeline.with_suffix(f".{self._started}.log")
        name = None if turn or self._store == "disk" else f"copy-{number}"
        return Copy(pipeline, arguments, log, name)


def leaves_a_cut(said: str) -> bool:
    """Return whether a copy said at its end that Kafka did not take its last cut in time."""
    last = "".join(said.splitlines()[-1:])
    return "next start goes on from" in last or "before its state advances" in last
