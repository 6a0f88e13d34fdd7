"""The whole example: a private topic, a local and a central pipeline, and what both tell."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from shutil import copy

from rich.panel import Panel
from rich.progress import Progress

from examples.commute.analyst import read_counts, read_reports
from examples.commute.report import Released, table
from examples.commute.riders import FIRST_HOUR, MATRIX, ZONES, Riders
from fugu.dataflows.commands.explain_together import print_joint
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.joint import Told, declared_joints
from fugu.dataflows.pipeline.mechanisms import configure

PIPELINES = ("reports", "counts")
_RIDERS = 2_000
"""The embedded broker keeps 5 MB of a partition, which releases of 3,000 riders exceed."""


def commute(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print what was found, and draw the picture if one is wanted."""
    console, riders = Terminal(), Riders(_RIDERS)
    console.print(
        f"[bold]Commute[/bold]: {_RIDERS:,} riders in {len(ZONES)} zones send {riders.records:,} "
        "records in twelve hours, one each quarter of an hour.\n"
    )
    with EmbeddedBroker() as bootstrap:
        files = pipelines_on(bootstrap, folder)
        configured = {name: configure(file).mechanism for name, file in files.items()}
        promised = "\n\n".join(in_words(one.guarantees()[0]) for one in configured.values())
        console.print(Panel(promised, title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            released = counted(files, riders, progress)
    told = [Told.of(files[name].pipeline, configured[name]) for name in PIPELINES]
    for joint in declared_joints({one.pipeline: one for one in told}):
        print_joint(console, joint)
    console.print(table(released))
    if plot is not None:
        from examples.commute.picture import save

        save(released, plot)
        console.print(f"Picture: {plot}")


def pipelines_on(bootstrap: str, folder: Path) -> dict[str, PipelineFile]:
    """Both pipelines over one topic, and the matrix that one of them names."""
    copy(MATRIX, folder)
    here = Path(__file__).parent
    return {
        name: pipeline_on(bootstrap, folder, f"{name}.yaml", (here / f"{name}.yaml").read_text())
        for name in PIPELINES
    }


def counted(files: dict[str, PipelineFile], riders: Riders, progress: Progress) -> Released:
    """Send the records through both pipelines, and let the analyst read what comes out."""
    morning = datetime.now(UTC).replace(hour=FIRST_HOUR, minute=0, second=0, microsecond=0)
    begin = int(morning.timestamp() * 1000) - 24 * 3_600_000
    first = files["reports"]
    client, topic = client_of(first.connection()), first.pipeline.source.topic
    produce(client, topic, riders.raw(begin), riders.records, progress)
    releases = {"reports": riders.records, "counts": riders.ticks * len(ZONES)}

    def sanitized(name: str) -> None:
        sanitize(client_of(files[name].connection()), files[name], releases[name], progress)

    with ThreadPoolExecutor() as threads:
        list(threads.map(sanitized, PIPELINES))
    settings = settings_of(first.connection())
    reports = read_reports("commute.reports", ZONES, riders.ticks, **settings)
    return Released(riders.counts(), reports, read_counts("commute.counts", ZONES, **settings))
