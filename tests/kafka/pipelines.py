"""Running a pipeline as its users do: a file, the `fugu` command, signals, exit codes, stderr."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.kafka.clients import kafka_section
from tests.kafka.prepared import PreparedProcess, start

FUGU = Path(sys.executable).with_name("fugu")
SECRET = "ab" * 32
OTHER_SECRET = "cd" * 32
SECRET_VARIABLE = "FUGU_TEST_SECRET"
PATIENCE_SECONDS = 90
"""Nothing is timed: this only ends what hangs, on a machine that is busy with other things."""
ALPHABET = ["rest", "light", "moderate", "vigorous"]
MODEL: dict[str, Any] = {
    "format": "fugu-markov-model",
    "format_version": 2,
    "alphabet": ALPHABET,
    "prior": "uniform",
    "transition": [
        [0.90, 0.06, 0.03, 0.01],
        [0.10, 0.80, 0.08, 0.02],
        [0.02, 0.14, 0.79, 0.05],
        [0.01, 0.04, 0.20, 0.75],
    ],
}
MEMORYLESS = MODEL | {"transition": [[0.25] * len(ALPHABET)] * len(ALPHABET)}
"""With it, every release costs exactly epsilon, whatever was released before."""

Document = dict[str, Any]


def pipeline_document(bootstrap: str, source: str, sink: str) -> Document:
    """A complete pipeline as plain data, for tests to change before it is written."""
    return {
        "name": "heart-zones",
        "source": {"topic": source, "value": "zone", "partitioner": "unchecked"},
        "operator": {
            "kind": "crr",
            "alphabet": ALPHABET,
            "epsilon": 1.0,
            "model": "model.json",
        },
        "sink": {"topic": sink, "create": True},
        "kafka": kafka_section(bootstrap),
        "state": {"directory": "state", "every": "200ms"},
        "secret": {"env": SECRET_VARIABLE},
    }


def write_pipeline(
    directory: Path, document: Document, model: Mapping[str, Any] | None = None
) -> Path:
    """Write pipeline and model file into a directory; returns the path of the pipeline file."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.json").write_bytes(orjson.dumps(MODEL if model is None else model))
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


@dataclass(frozen=True)
class RunningPipeline:
    """A `fugu run` process of its own; everything it says is in `log`."""

    process: subprocess.Popen[bytes] | PreparedProcess
    log: Path

    @property
    def stderr(self) -> str:
        """Return what it has written so far."""
        return self.log.read_text(errors="replace")

    def wait_until(self, reached: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for something to become true while the pipeline runs."""
        deadline = time.monotonic() + seconds
        while not reached():
            assert self.process.poll() is None, f"the pipeline ended:\n{self.stderr}"
            assert time.monotonic() < deadline, f"nothing happened for {seconds} s:\n{self.stderr}"
            time.sleep(0.01)

    def wait_until_started(self) -> None:
        """Wait for the line that says what it runs; from there on it handles signals."""
        self.wait_until(lambda: " partitions" in self.stderr)

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait()

    def stop(
        self, how: signal.Signals = signal.SIGTERM, *, seconds: float = PATIENCE_SECONDS
    ) -> int:
        """Ask it to stop, once it handles signals; returns the exit code."""
        self.wait_until_started()
        self.process.send_signal(how)
        return self.process.wait(seconds)

    def exit_code(self, *, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until it ends by itself."""
        return self.process.wait(seconds)


@contextmanager
def running(
    pipeline: Path,
    *arguments: str,
    secret: str = SECRET,
    killed: tuple[str, int] | None = None,
    command: Sequence[str | Path] = (),
) -> Iterator[RunningPipeline]:
    """`fugu run PIPELINE ARGUMENTS`, or `COMMAND run ...`; killed at the end if it still runs.

    It may be killed before, at an occurrence of a point of `tests.faults.killed_inside`.
    """
    log = pipeline.with_suffix(f".{time.monotonic_ns()}.log")
    environment = {**os.environ, SECRET_VARIABLE: secret}
    process: subprocess.Popen[bytes] | PreparedProcess
    if command:
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, "run", pipeline, *arguments],
                stdin=subprocess.DEVNULL,
                stderr=stderr,
                env=environment,
            )
    else:
        log.touch()
        given: list[str | Path] = ["run", pipeline, *arguments]
        process = _started(given, environment, Path(os.devnull), log, killed)
    try:
        yield RunningPipeline(process, log)
    finally:
        process.kill()
        process.wait()


def refusal(pipeline: Path, *options: str, secret: str = SECRET) -> str:
    """Return what `fugu run` says when it refuses to start."""
    with running(pipeline, *options, secret=secret) as process:
        return check_refusal(process)


def check_refusal(process: RunningPipeline, *, seconds: float = PATIENCE_SECONDS) -> str:
    """Wait for the end, which must be one clear error, its exit code and no traceback."""
    code = process.exit_code(seconds=seconds)
    said = process.stderr
    assert code in (1, NO_RESTART_HELPS), said
    assert said.count("fugu: ") == 1, said
    assert not any(word in said for word in ("Traceback", "panicked", "Exception")), said
    return said


def fugu(*arguments: str | Path) -> str:
    """Run a command of `fugu` that must succeed; returns what it prints."""
    process = ended(arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout


def refused(*arguments: str | Path) -> str:
    """Run a command of `fugu` that must end with an error; returns the error."""
    process = ended(arguments)
    assert process.returncode == 1, process.stdout
    assert "Traceback" not in process.stderr
    return process.stderr


def ended(
    arguments: Sequence[str | Path], killed: tuple[str, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of `fugu` to its end; return its code, and what it printed."""
    environment = {**os.environ, SECRET_VARIABLE: SECRET}
    with TemporaryDirectory() as folder:
        stdout, stderr = (Path(folder) / name for name in ("stdout", "stderr"))
        code = _started(arguments, environment, stdout, stderr, killed).wait()
        said = (path.read_text() for path in (stdout, stderr))
        return subprocess.CompletedProcess(arguments, code, *said)


def _started(
    arguments: Sequence[str | Path],
    environment: Mapping[str, str],
    stdout: Path,
    stderr: Path,
    killed: tuple[str, int] | None,
) -> PreparedProcess:
    """Start `fugu`, which may be killed inside."""
    if killed is None:
        return start(arguments, environment, stdout, stderr)
    point, occurrence = killed
    given = [point, str(occurrence), *arguments]
    return start(given, environment, stdout, stderr, "tests.faults.killed_inside")
