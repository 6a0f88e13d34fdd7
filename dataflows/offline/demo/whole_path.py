"""From a raw topic to the sanitized one on the embedded broker, by the code that users run."""

from collections.abc import Iterable
from pathlib import Path

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.offline.demo.raw_records import RawRecord, partitioned
from fugu.dataflows.offline.demo.running import SECRET, Running
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


def pipeline_on(bootstrap: str, folder: Path, name: str, text: str) -> PipelineFile:
    """An example pipeline, pointed at the embedded broker and at a secret made for this run."""
    document = yaml.safe_load(text)
    document["kafka"] = {"bootstrap": bootstrap, "broker": "embedded"}
    document["secret"] = {"env": SECRET}
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
    with Running(client, file, records, progress) as running:
        running.wait_for(records)
        return running.stop()
