"""The whole example: a private topic, two procedures, and an analyst who attacks what they give."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import yaml
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.patients.analyst import Window, read_topic
from examples.patients.people import DAY_MS, DAYS, People
from examples.patients.report import Released, table
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import Running, pipeline_on, produce, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure

PROCEDURES = ("thesis", "repair")
"""Stage 1 alone, which the thesis takes for safe, and what Fugu releases."""
_PEOPLE = 1_500
_PIPELINE = Path(__file__).with_name("pipeline.yaml")
_TAXONOMY = Path(__file__).with_name("diagnoses.yaml")


def patients(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the table, and draw the picture if one is wanted."""
    console, people = Console(), People(_PEOPLE)
    console.print(
        f"[bold]Patients[/bold]: {_PEOPLE:,} people with a diagnosis send {people.records:,} "
        f"records in {DAYS} days, one every two hours.\n"
    )
    with EmbeddedBroker() as bootstrap:
        files = pipelines_on(bootstrap, folder)
        [guarantee] = configure(files["repair"]).mechanism.guarantees()
        console.print(Panel(in_words(guarantee), title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            released = anonymised(files, people, progress)
    console.print(table(released))
    if plot is not None:
        from examples.patients.picture import save

        save(released, plot)
        console.print(f"Picture: {plot}")


def pipelines_on(bootstrap: str, folder: Path) -> dict[str, PipelineFile]:
    """The pipeline with each procedure; the first one has to be accepted as unsound."""
    shutil.copy(_TAXONOMY, folder)
    files = {}
    for procedure in PROCEDURES:
        document = yaml.safe_load(_PIPELINE.read_text())
        document["name"] = f"patients-{procedure}"
        document["operator"]["stage"] = procedure
        document["operator"]["accept_unsound"] = procedure == "thesis"
        document["sink"]["topic"] += f".{procedure}"
        document["state"]["directory"] += f"-{procedure}"
        files[procedure] = pipeline_on(
            bootstrap, folder, f"{procedure}.yaml", yaml.safe_dump(document)
        )
    return files


def anonymised(files: dict[str, PipelineFile], people: People, progress: Progress) -> Released:
    """Send the records through both pipelines, and let the analyst read what comes out."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begin = int(midnight.timestamp() * 1000) - (DAYS + 1) * DAY_MS
    first = files["repair"]
    client, topic = client_of(first.connection()), first.pipeline.source.topic
    produce(client, topic, people.raw(begin), people.records, progress)
    with ThreadPoolExecutor() as threads:
        released = threads.map(lambda file: _windows(file, progress), files.values())
        return Released(people, begin, dict(zip(files, released, strict=True)))


def _windows(file: PipelineFile, progress: Progress) -> list[Window]:
    """Run until every day is told: how many records it has, nobody knows before."""
    topic, found = file.pipeline.sink.topic, list[Window]()
    with Running(client_of(file.connection()), file, 1, progress) as running:
        while len(found) < DAYS:
            running.wait_for(1 + sum(1 + len(window.records or []) for window in found))
            found = read_topic(topic, **settings_of(file.connection()))
        running.stop()
    return read_topic(topic, **settings_of(file.connection()))
