"""Run the demo: an embedded broker, a known stream, the production path, and a report."""

import tempfile
from importlib.resources import files
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from threading import Event

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.files.model_file import read_model
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.report import Released
from fugu.dataflows.offline.demo.stream import DemoStream
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.published import RELEASE_HEADER
from fugu.operators.mechanism import Integers
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel


def demo(users: int, records: int, to: Path | None = None, *, keep_open: bool = False) -> None:
    """Run the demo and print what a newcomer wants to see."""
    if to is not None and find_spec("pyarrow") is None:
        raise ConfigurationError(f"--to needs pyarrow: {install('analysis')}")
    console = Console()
    with tempfile.TemporaryDirectory(prefix="fugu-demo-") as folder, EmbeddedBroker() as bootstrap:
        file = _pipeline_file(Path(folder), bootstrap)
        pipeline, operator = file.pipeline, file.pipeline.operator
        assert isinstance(operator, CrrOperator)
        alphabet = [str(symbol) for symbol in operator.alphabet]
        mechanism = configure(file).mechanism
        assert isinstance(mechanism, ConditionalRandomizedResponse)
        model = read_model(file.resolve(operator.model), operator.alphabet)
        assert isinstance(model, MarkovModel)
        client = client_of(file.connection())
        stream = DemoStream(model, alphabet, users, records)
        console.print(
            f"[bold]Fugu demo[/bold]: {users:,} users send {records:,} heart-rate zones to "
            f"[cyan]{pipeline.source.topic}[/cyan]; Fugu publishes "
            f"[cyan]{pipeline.sink.topic}[/cyan] (embedded broker, {PARTITIONS} partitions).\n"
        )
        truth = stream.truth()
        with shown_progress(console) as progress:
            produce(client, pipeline.source.topic, stream.raw(truth), records, progress)
            sanitized = sanitize(client, file, records, progress)
        released = Released.of(sanitized, alphabet)
        _report(console, mechanism, alphabet, truth, released, sanitized)
        if to is not None:
            _keep(console, client, file, to)
        if keep_open:
            _stay_open(console, f"kafka://{bootstrap}/{pipeline.sink.topic}")


def _keep(console: Console, client: Client, file: PipelineFile, to: Path) -> None:
    """Export the sanitized topic, and say how it is read."""
    from fugu.dataflows.analysis.exporting import export_sink

    export_sink(client, file, to)
    console.print(f'Read it: [cyan]import fugu; fugu.read("{to}").shares()[/cyan]')


def _stay_open(console: Console, address: str) -> None:
    """Say where the sanitized topic is, and wait until somebody interrupts."""
    read = f'fugu.read("{address}", kafka={{"broker": "embedded"}}).shares()'
    console.print(f"Read it: import fugu; {read}", soft_wrap=True)
    console.print("The broker stays open until Ctrl-C.")
    Event().wait()


def _pipeline_file(folder: Path, bootstrap: str) -> PipelineFile:
    """Write the packaged pipeline and its model, for the embedded broker."""
    packaged = files("fugu.dataflows.offline.demo")
    model = "heart-zones.model.json"
    (folder / model).write_bytes((packaged / model).read_bytes())
    text = (packaged / "heart-zones.yaml").read_text()
    return pipeline_on(bootstrap, folder, "heart-zones.yaml", text)


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
    table.add_column("zone")
    for heading in ("true share", "released", "corrected", "expected wrong", "measured wrong"):
        table.add_column(heading, justify="right")
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
    """Sort truth by partition, then time, as releases are: they keep the order of their records."""
    by_partition = sorted(truth, key=lambda told: partition_of(told[0]))
    return np.array([zone for _, zone in by_partition], dtype=np.int64)


def _few_records(sanitized: list[Batch]) -> Table:
    table = Table(title="A few sanitized records")
    for heading in ("key (pseudonym)", "value", "release id"):
        table.add_column(heading, no_wrap=True)
    records = chain.from_iterable(batch.records() for batch in sanitized)
    for _, _, key, value, headers in islice(records, 4):
        release_id = dict(headers)[RELEASE_HEADER]
        table.add_row(_short(key), (value or b"").decode(), _short(release_id))
    return table


def _short(identifier: bytes | None) -> str:
    return (identifier or b"").decode()[:12] + "…"
