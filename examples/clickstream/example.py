"""The whole example: public history, a model, a private topic, the pipeline, and an analyst."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import orjson
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.clickstream.analyst import estimated_shares, read_topic, reader_of
from examples.clickstream.report import Shares, table
from examples.clickstream.site import Click, Site
from fugu.dataflows.commands.model_learn import learn
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Floats, Integers

VISITORS, PRIVATE_SEED = 2_000, 2
PUBLIC_VISITORS, PUBLIC_SEED = 15_000, 3
_PIPELINE = Path(__file__).with_name("pipeline.yaml")


def clickstream(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the table, and draw the picture if one is wanted."""
    console, site = Console(), Site()
    clicks = site.clicks(VISITORS, PRIVATE_SEED)
    console.print(
        f"[bold]Clickstream[/bold]: {VISITORS:,} visitors of a site with {site.pages:,} pages make "
        f"{len(clicks):,} clicks.\nThe model is learned from {PUBLIC_VISITORS:,} other visitors.\n"
    )
    with EmbeddedBroker() as bootstrap:
        file = prepared(folder, bootstrap, site, PUBLIC_VISITORS)
        guarantees = configure(file).mechanism.guarantees()
        promise = "\n\n".join(in_words(guarantee) for guarantee in guarantees)
        console.print(Panel(promise, title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            shares = sanitized_shares(file, site, clicks, progress)
    console.print(table(shares))
    console.print(shares.verdict())
    if plot is not None:
        from examples.clickstream.picture import save

        save(shares, plot)
        console.print(f"Picture: {plot}")


def prepared(folder: Path, bootstrap: str, site: Site, public_visitors: int) -> PipelineFile:
    """The pipeline with its site map, and a model learned from visitors who are not protected."""
    (folder / "pages.txt").write_text("\n".join(site.names))
    file = pipeline_on(bootstrap, folder, "pipeline.yaml", _PIPELINE.read_text())
    history = folder / "public.jsonl"
    history.write_bytes(b"\n".join(_lines(site, site.clicks(public_visitors, PUBLIC_SEED))))
    learn(
        folder / "pages.model.json",
        [history],
        key="visitor",
        pipeline=file,
        alpha=1.0 / site.pages,
        source="clicks of other visitors of the same site",
    )
    return file


def sanitized_shares(
    file: PipelineFile, site: Site, clicks: Sequence[Click], progress: Progress
) -> Shares:
    """Send the clicks through the pipeline, and let the analyst read what comes out."""
    pipeline, client = file.pipeline, client_of(file.connection())
    produce(client, pipeline.source.topic, _raw(site, clicks), len(clicks), progress)
    sanitize(client, file, len(clicks), progress)
    model = file.path.with_name("pages.model.json")
    assert isinstance(pipeline.operator, CrrOperator)
    pages, reader = reader_of(model, float(pipeline.operator.epsilon))
    number = {page: index for index, page in enumerate(pages)}
    topic = read_topic(pipeline.sink.topic, **settings_of(file.connection()))
    streams = [np.array([number[page] for page in stream]) for stream in topic.values()]
    task = progress.add_task("estimate", total=len(clicks), rate="")
    estimate = estimated_shares(
        reader, len(pages), streams, lambda done: progress.advance(task, done)
    )
    return Shares(
        site.names,
        len(clicks),
        truth=_shares([click.page for click in clicks], site.pages),
        released=_shares(np.concatenate(streams), site.pages),
        estimate=estimate,
    )


def _shares(pages: Sequence[int] | Integers, size: int) -> Floats:
    return np.asarray(np.bincount(pages, minlength=size) / len(pages))


def _raw(site: Site, clicks: Sequence[Click]) -> Iterator[RawRecord]:
    """Raw records, the last of them now; each with a field that must not be let through."""
    begin = int(datetime.now(UTC).timestamp() * 1000) - clicks[-1].milliseconds
    for click in clicks:
        value = {"page": site.names[click.page], "visit": f"{click.visitor}-{click.visit}"}
        yield b"visitor-%05d" % click.visitor, orjson.dumps(value), begin + click.milliseconds


def _lines(site: Site, clicks: Iterable[Click]) -> Iterator[bytes]:
    for click in clicks:
        yield orjson.dumps({"visitor": click.visitor, "page": site.names[click.page]})
