"""The processes that run one pipeline, which are killed, paused, and more or fewer of them."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.feeding import PARTITIONS
from tests.kafka.pipelines import FUGU, SECRET, SECRET_VARIABLE

Store = Literal["disk", "kafka"]
STOP_SECONDS = 60
BACK_OFF_SECONDS = 1.0


class Refused(AssertionError):
    """A copy ended in a way that no restart would help; the text is the end of its log."""


@dataclass
class Copy:
    """One process, and what it is started with again."""

    pipeline: Path
    arguments: Sequence[str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        environment = {**os.environ, SECRET_VARIABLE: SECRET}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [FUGU, "run", self.pipeline, *self.arguments],
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=environment,
            )

    def end(self) -> None:
        """Stop it gracefully, which must take it less than a grace period."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        # A copy that was asked to stop before it handles signals ends by the signal.
        if code not in (0, -signal.SIGTERM):
            raise Refused(f"a copy stopped with {code}:\n{self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


class Copies:
    """Run a pipeline in several processes, and start again what ends by itself, as a kubelet does.

    With `store: disk` each process has its part of the shards, and their number changes as an
    operator changes it: all stop, and others start. With `store: kafka` copies come and go.
    """

    def __init__(self, pipeline: Path, store: Store, count: int) -> None:
        self._pipeline = pipeline
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

    def restart(self, number: int) -> None:
        """Stop a copy gracefully, and start it again."""
        self._copies[number].end()
        self._copies[number].start()

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
        log = self._pipeline.with_suffix(f".{self._started}.log")
        return Copy(self._pipeline, arguments, log)
