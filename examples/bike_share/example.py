"""The whole example: a private topic, a pipeline of kind `real_time`, and an analyst."""

from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.bike_share.analyst import read_topic
from examples.bike_share.report import Released, budget_line, table
from examples.bike_share.riders import DAYS, DISTRICTS, TICKS, Riders
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure

PIPELINE = Path(__file__).with_name("pipeline.yaml")
RIDERS = 20_000


def bike_share(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the table, and draw the picture if one is wanted."""
    console, riders = Console(), Riders(RIDERS)
    console.print(
        f"[bold]Bike-share[/bold]: {RIDERS:,} riders in {len(DISTRICTS)} districts rent a bicycle "
        f"{riders.records:,} times in {DAYS} days; they are counted by district and hour.\n"
    )
    with EmbeddedBroker() as bootstrap:
        file = pipeline_on(bootstrap, folder, "pipeline.yaml", PIPELINE.read_text())
        [guarantee] = configure(file).mechanism.guarantees()
        console.print(Panel(in_words(guarantee), title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            released = counted(file, riders, progress)
    console.print(table(released), budget_line(released))
    if plot is not None:
        from examples.bike_share.picture import save

        save(released, plot)
        console.print(f"Picture: {plot}")


def counted(file: PipelineFile, riders: Riders, progress: Progress) -> Released:
    """Send the records through the pipeline, and let the analyst read what comes out."""
    pipeline, client = file.pipeline, client_of(file.connection())
    produce(client, pipeline.source.topic, riders.raw(), riders.records, progress)
    sanitize(client, file, TICKS * len(DISTRICTS), progress)
    figures = read_topic(pipeline.sink.topic, **settings_of(file.connection()))
    [guarantee] = configure(file).mechanism.guarantees()
    return Released(riders.counts(), figures, guarantee.epsilon, guarantee.delta)
