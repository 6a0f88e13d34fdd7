"""The demo: an embedded broker, a known stream, the production path, and a report."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from itertools import islice
from pathlib import Path
from secrets import token_hex

import numpy as np
import yaml
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dataflows.batches import Batch
from dataflows.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from dataflows.demo.report import Released
from dataflows.demo.stream import DemoStream, partition_of
from dataflows.errors import FuguError
from dataflows.guarantee_text import in_words
from dataflows.kafka.client import Client
from dataflows.kafka.kafka_python import KafkaPythonClient
from dataflows.mechanisms import configure
from dataflows.model_file import read_model
from dataflows.operator_sections import MarkovOperator
from dataflows.pipeline_file import PipelineFile
from dataflows.publish import RELEASE_HEADER
from operators.mechanism import Integers
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel

_PATIENCE_SECONDS = 120
_SECRET = "FUGU_DEMO_SECRET"


def demo(users: int, records: int) -> None:
    """Run the demo and print what a newcomer wants to see."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="fugu-demo-") as folder, EmbeddedBroker() as bootstrap:
        file = _pipeline_file(Path(folder), bootstrap)
        pipeline, operator = file.pipeline, file.pipeline.operator
        assert isinstance(operator, MarkovOperator)
        alphabet = [str(symbol) for symbol in operator.alphabet]
        mechanism = configure(file).mechanism
        assert isinstance(mechanism, ConditionalRandomizedResponse)
        model = read_model(file.resolve(operator.model), operator.alphabet)
        assert isinstance(model, MarkovModel)
        client = KafkaPythonClient(file.connection())
        stream = DemoStream(model, alphabet, users, records)
        console.print(
            f"[bold]Fugu demo[/bold]: {users:,} users send {records:,} heart-rate zones to "
            f"[cyan]{pipeline.source.topic}[/cyan]; Fugu publishes "
            f"[cyan]{pipeline.sink.topic}[/cyan] (embedded broker, {PARTITIONS} partitions).\n"
        )
        truth = stream.truth()
        with Progress(
            TextColumn("{task.description:<9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=console,
        ) as progress:
            _produce(client, stream, truth, pipeline.source.topic, progress)
            sanitized = _sanitize(client, file, records, progress)
        released = Released.of(sanitized, alphabet)
        _report(console, mechanism, alphabet, truth, released, sanitized)


def _pipeline_file(folder: Path, bootstrap: str) -> PipelineFile:
    """The example pipeline, pointed at the embedded broker and at a secret made for this run."""
    packaged = files("dataflows.demo")
    document = yaml.safe_load((packaged / "heart-zones.yaml").read_text())
    document["kafka"] = {"bootstrap": bootstrap, "broker": "embedded"}
    document["secret"] = {"env": _SECRET}
    model = document["operator"]["model"]
    (folder / model).write_bytes((packaged / model).read_bytes())
    path = folder / "heart-zones.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return PipelineFile.read(path)


def _produce(
    client: Client,
    stream: DemoStream,
    truth: list[tuple[bytes, int]],
    topic: str,
    progress: Progress,
) -> None:
    task = progress.add_task("produce", total=len(truth), rate="")
    client.topic(topic)
    writer = client.writer()
    for outgoing in stream.outgoing(truth):
        writer.write(topic, outgoing)
        progress.advance(task, len(outgoing.values))
    writer.flush()
    writer.close()


def _sanitize(client: Client, file: PipelineFile, records: int, progress: Progress) -> list[Batch]:
    """Run `fugu run` until everything has come out, and stop it as an operator would."""
    task = progress.add_task("sanitize", total=records, rate="")
    sink = file.pipeline.sink.topic
    client.topic(sink)
    reader = client.reader(sink)
    partitions = list(range(PARTITIONS))
    process = subprocess.Popen(
        [sys.executable, "-m", "dataflows", "run", str(file.path)],
        env={**os.environ, _SECRET: token_hex(32)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        began, first, done = time.monotonic(), 0.0, 0
        while done < records:
            if process.poll() is not None or time.monotonic() - began > _PATIENCE_SECONDS:
                process.kill()
                raise FuguError(f"the demo's pipeline stopped early:\n{process.communicate()[1]}")
            done = sum(bounds.end for bounds in reader.bounds(partitions).values())
            first = first or (time.monotonic() if done else 0.0)
            elapsed = time.monotonic() - first if first else 0.0
            rate = f"{done / elapsed:,.0f} records/s" if elapsed > 0.5 else ""
            progress.update(task, completed=done, rate=rate)
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        if process.wait(timeout=30) != 0:
            raise FuguError(f"the demo's pipeline did not stop:\n{process.communicate()[1]}")
        return [
            batch
            for partition, bounds in reader.bounds(partitions).items()
            for batch in reader.read_range(partition, bounds.start, bounds.end)
        ]
    finally:
        process.kill()
        reader.close()


def _report(
    console: Console,
    mechanism: ConditionalRandomizedResponse,
    alphabet: list[str],
    truth: list[tuple[bytes, int]],
    released: Released,
    sanitized: list[Batch],
) -> None:
    console.print()
    promises = "\n\n".join(in_words(guarantee) for guarantee in mechanism.guarantees())
    console.print(Panel(promises, title="What is promised", border_style="green"))
    true_zones = _in_release_order(truth)
    symbols = len(alphabet)
    true_shares = np.bincount(true_zones, minlength=symbols) / len(true_zones)
    shares = released.shares(symbols)
    corrected = released.corrected_shares(mechanism)
    table = Table(
        title="Shares of the zones, and how wrong releases are",
        caption="corrected and expected use the sanitized topic and the public model alone",
    )
    for heading in (
        "zone",
        "true share",
        "released",
        "corrected",
        "expected wrong",
        "measured wrong",
    ):
        table.add_column(heading, justify="left" if heading == "zone" else "right")
    for symbol, name in enumerate(alphabet):
        table.add_row(
            name,
            f"{true_shares[symbol]:.2%}",
            f"{shares[symbol]:.2%}",
            f"{corrected[symbol]:.2%}",
            f"{released.expected_wrong(symbol):.1%}",
            f"{released.measured_wrong(symbol, true_zones):.1%}",
        )
    console.print(table)
    console.print()
    console.print(_few_records(sanitized))
    console.print(
        "Next: copy [cyan]deploy/examples[/cyan], point it at your topics, and try "
        "[bold]fugu validate[/bold], [bold]fugu explain[/bold], [bold]fugu run[/bold].\n"
    )


def _in_release_order(truth: list[tuple[bytes, int]]) -> Integers:
    """Truth by partition, then time: releases keep the partition and order of their records."""
    by_partition = sorted(truth, key=lambda told: partition_of(told[0]))
    return np.array([zone for _, zone in by_partition], dtype=np.int64)


def _few_records(sanitized: list[Batch]) -> Table:
    table = Table(title="A few sanitized records")
    for heading in ("key (pseudonym)", "value", "release id"):
        table.add_column(heading, no_wrap=True)
    records = (
        (key, value, headers)
        for batch in sanitized
        for key, value, headers in zip(batch.keys, batch.values, batch.headers, strict=True)
    )
    for key, value, headers in islice(records, 4):
        release_id = dict(headers)[RELEASE_HEADER]
        table.add_row(_short(key), (value or b"").decode(), _short(release_id))
    return table


def _short(identifier: bytes | None) -> str:
    return (identifier or b"").decode()[:12] + "…"
