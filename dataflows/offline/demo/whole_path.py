"""Run the whole path on the embedded broker, from a raw topic to the sanitized one, as users do."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from secrets import token_hex
from typing import Self

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS
from fugu.dataflows.offline.demo.raw_records import RawRecord, partitioned
from fugu.dataflows.pipeline.config import PipelineFile

SECRET = "FUGU_DEMO_SECRET"
"""The variable that holds a secret made for this run."""
_PATIENCE_SECONDS = 120


def pipeline_on(bootstrap: str, folder: Path, name: str, text: str) -> PipelineFile:
    """Point an example pipeline at the embedded broker and at a secret made for this run."""
    document = yaml.safe_load(text)
    document["kafka"] = {"bootstrap": bootstrap, "broker": "embedded"}
    document["secret"] = {"env": SECRET}
    path = folder / name
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return PipelineFile.read(path)


def shown_progress(console: Console) -> Progress:
    """Return a bar for each stage, which may say a `rate`."""
    return Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        console=console,
    )


def produce(
    client: Client, topic: str, records: Iterable[RawRecord], total: int, progress: Progress
) -> None:
    """Write the raw topic."""
    task = progress.add_task("produce", total=total, rate="")
    client.topic(topic)
    writer = client.writer()
    for outgoing in partitioned(records):
        writer.write(topic, outgoing)
        progress.advance(task, len(outgoing.values))
    writer.flush()
    writer.close()


def sanitize(
    client: Client, file: PipelineFile, records: int, progress: Progress, secret: str = ""
) -> list[Batch]:
    """Run `fugu run` until everything has come out, and stop it as an operator would.

    A `secret` of 64 hexadecimal digits makes a run that can be had again; without, one is drawn.
    """
    with Running(client, file, records, progress, secret) as running:
        running.wait_for(records)
        return running.stop()


class Running:
    """Run `fugu run` while the context is open, with a bar of the `records` that come out."""

    def __init__(
        self,
        client: Client,
        file: PipelineFile,
        records: int,
        progress: Progress,
        secret: str = "",
    ) -> None:
        self._file, self._progress, self._secret = file, progress, secret or token_hex(32)
        self._task = progress.add_task("sanitize", total=records, rate="")
        client.topic(file.pipeline.sink.topic)
        self._reader = client.reader(file.pipeline.sink.topic)
        self._first = 0.0

    def __enter__(self) -> Self:
        """Start it."""
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fugu", "run", str(self._file.path)],
            env={**os.environ, SECRET: self._secret},
            stderr=self._errors,
        )
        return self

    def __exit__(self, *error: object) -> None:
        """Kill it, if it has not been stopped."""
        self._process.kill()
        self._process.wait()
        self._errors.close()
        self._reader.close()

    @property
    def said(self) -> str:
        """Return the log so far."""
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()

    def wait_for(self, records: int) -> None:
        """Wait until so many releases have come out."""
        self.wait_until(lambda: self._done() >= records)

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for as long as more releases come out, now and then."""
        moved, before = time.monotonic(), self._done()
        while not reached():
            if self._process.poll() is not None:
                raise FuguError(f"the pipeline stopped early:\n{self.said}")
            if time.monotonic() - moved > _PATIENCE_SECONDS:
                raise FuguError(
                    f"the pipeline has released nothing for {_PATIENCE_SECONDS:g} s. On a busy "
                    "machine run this again: what is compiled by then is kept. Its log:\n"
                    f"{self.said}"
                )
            done = self._done()
            moved, before = time.monotonic() if done > before else moved, done
            time.sleep(0.1)

    def stop(self) -> list[Batch]:
        """Stop it as an operator would, and read what came out."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(timeout=30) != 0:
            raise FuguError(f"the pipeline did not stop:\n{self.said}")
        return [
            batch
            for partition, bounds in self._reader.bounds(list(range(PARTITIONS))).items()
            for batch in self._reader.read_range(partition, bounds.start, bounds.end)
        ]

    def _done(self) -> int:
        """Count the releases that have come out, and show how fast."""
        bounds = self._reader.bounds(list(range(PARTITIONS)))
        done = sum(bound.end for bound in bounds.values())
        self._first = self._first or (time.monotonic() if done else 0.0)
        elapsed = time.monotonic() - self._first if self._first else 0.0
        rate = f"{done / elapsed:,.0f} records/s" if elapsed > 0.5 else ""
        self._progress.update(self._task, completed=done, rate=rate)
        return done
