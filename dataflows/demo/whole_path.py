"""From a raw topic to the sanitized one on the embedded broker, by the code that users run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dataflows.batches import Batch
from dataflows.demo.embedded_broker import PARTITIONS
from dataflows.demo.raw_records import RawRecord, partitioned
from dataflows.errors import FuguError
from dataflows.kafka.client import Client, Reader
from dataflows.pipeline_file import PipelineFile

_PATIENCE_SECONDS = 120
_SECRET = "FUGU_DEMO_SECRET"


def pipeline_on(bootstrap: str, folder: Path, name: str, text: str) -> PipelineFile:
    """An example pipeline, pointed at the embedded broker and at a secret made for this run."""
    document = yaml.safe_load(text)
    document["kafka"] = {"bootstrap": bootstrap, "broker": "embedded"}
    document["secret"] = {"env": _SECRET}
    path = folder / name
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return PipelineFile.read(path)


def shown_progress(console: Console) -> Progress:
    """A bar for each stage, which may say a `rate`."""
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


def sanitize(client: Client, file: PipelineFile, records: int, progress: Progress) -> list[Batch]:
    """Run `fugu run` until everything has come out, and stop it as an operator would."""
    task = progress.add_task("sanitize", total=records, rate="")
    sink = file.pipeline.sink.topic
    client.topic(sink)
    reader = client.reader(sink)
    partitions = list(range(PARTITIONS))
    with subprocess.Popen(
        [sys.executable, "-m", "dataflows", "run", str(file.path)],
        env={**os.environ, _SECRET: token_hex(32)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            moved, first, done = time.monotonic(), 0.0, 0
            while done < records:
                if process.poll() is not None or time.monotonic() - moved > _PATIENCE_SECONDS:
                    process.kill()
                    raise FuguError(f"the pipeline stopped early:\n{process.communicate()[1]}")
                before, done = done, _ends(reader, partitions)
                moved = time.monotonic() if done > before else moved
                first = first or (time.monotonic() if done else 0.0)
                elapsed = time.monotonic() - first if first else 0.0
                rate = f"{done / elapsed:,.0f} records/s" if elapsed > 0.5 else ""
                progress.update(task, completed=done, rate=rate)
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            if process.wait(timeout=30) != 0:
                raise FuguError(f"the pipeline did not stop:\n{process.communicate()[1]}")
            return [
                batch
                for partition, bounds in reader.bounds(partitions).items()
                for batch in reader.read_range(partition, bounds.start, bounds.end)
            ]
        finally:
            process.kill()
            reader.close()


def _ends(reader: Reader, partitions: list[int]) -> int:
    return sum(bounds.end for bounds in reader.bounds(partitions).values())
