"""The whole example: a private topic, the same pipeline with two strategies, and an analyst."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import yaml
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.city.analyst import Figures, read_topic
from examples.city.people import TICKS, WIDTH_MS, ZONES, People
from examples.city.report import Released, table
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure

STRATEGIES = ("sample", "budget_distribution")
_PEOPLE = 3_000
_PIPELINE = Path(__file__).with_name("pipeline.yaml")


def city(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the table, and draw the picture if one is wanted."""
    console, people = Console(), People(_PEOPLE)
    console.print(
        f"[bold]City[/bold]: {_PEOPLE:,} people in {len(ZONES)} zones send {people.records:,} "
        "records in a day, one each quarter of an hour.\n"
    )
    with EmbeddedBroker() as bootstrap:
        files = pipelines_on(bootstrap, folder)
        [guarantee] = configure(files[STRATEGIES[0]]).mechanism.guarantees()
        console.print(Panel(in_words(guarantee), title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            released = counted(files, people, progress)
    console.print(table(released))
    if plot is not None:
        from examples.city.picture import save

        save(released, plot)
        console.print(f"Picture: {plot}")


def pipelines_on(bootstrap: str, folder: Path) -> dict[str, PipelineFile]:
    """The pipeline with each strategy: two promises about the same people, whose budgets add."""
    files = {}
    for strategy in STRATEGIES:
        document = yaml.safe_load(_PIPELINE.read_text())
        document["name"] = f"city-{strategy}"
        document["operator"]["kind"] = strategy
        document["sink"]["topic"] += f".{strategy}"
        document["state"]["directory"] += f"-{strategy}"
        files[strategy] = pipeline_on(
            bootstrap, folder, f"{strategy}.yaml", yaml.safe_dump(document)
        )
    return files


def counted(files: dict[str, PipelineFile], people: People, progress: Progress) -> Released:
    """Send the records through both pipelines, and let the analyst read what comes out."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begin = int(midnight.timestamp() * 1000) - TICKS * WIDTH_MS
    first = files[STRATEGIES[0]]
    client, topic = client_of(first.connection()), first.pipeline.source.topic
    produce(client, topic, people.raw(begin), people.records, progress)

    def figures(file: PipelineFile) -> dict[str, Figures]:
        sanitize(client_of(file.connection()), file, TICKS * len(ZONES), progress)
        return read_topic(file.pipeline.sink.topic, **settings_of(file.connection()))

    with ThreadPoolExecutor() as threads:
        found = dict(zip(files, threads.map(figures, files.values()), strict=True))
    return Released(people.counts(), found)
