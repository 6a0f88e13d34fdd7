"""The whole example: a private topic, the pipeline, and an analyst."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.heart_rate.analyst import by_tick, read_topic
from examples.heart_rate.report import Recovered, errors_table, zones_table
from examples.heart_rate.watches import MINUTE_MS, MINUTES, Watches
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import RawRecord, partition_of
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.threshold import ThresholdPerturbation

_PEOPLE = 100
_NOISE_SEED = 11
_RANGE_BPM = 190.0
"""The width of the range of heart rates, 30 to 220, which noise on values would have to hide."""
PIPELINE = Path(__file__).with_name("pipeline.yaml")


def heart_rate(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the tables, and draw the picture if one is wanted."""
    console, watches = Console(), Watches(_PEOPLE)
    console.print(
        f"[bold]Heart rates[/bold]: {_PEOPLE} people wear a watch for a day, which sends "
        f"{watches.readings:,} readings, one a minute.\n"
    )
    with EmbeddedBroker() as bootstrap:
        file = pipeline_on(bootstrap, folder, "pipeline.yaml", PIPELINE.read_text())
        guarantees = configure(file).mechanism.guarantees()
        promise = "\n\n".join(in_words(guarantee) for guarantee in guarantees)
        console.print(Panel(promise, title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            recovered = displaced(file, watches, progress)
    console.print(zones_table(recovered))
    console.print(errors_table(recovered))
    console.print(recovered.lost())
    if plot is not None:
        from examples.heart_rate.picture import save

        save(recovered, plot)
        console.print(f"Picture: {plot}")


def displaced(file: PipelineFile, watches: Watches, progress: Progress) -> Recovered:
    """Send the readings through the pipeline, and let the analyst read what comes out.

    While it comes out: the embedded broker keeps the newest five megabytes of a partition only.
    """
    pipeline, client = file.pipeline, client_of(file.connection())
    mechanism, ticks = configure(file).mechanism, pipeline.operator.in_ticks()
    assert isinstance(mechanism, ThresholdPerturbation)
    assert mechanism.epsilon is not None
    assert ticks is not None
    now = int(datetime.now(UTC).timestamp() * 1000)
    begin = now // MINUTE_MS * MINUTE_MS - MINUTES * MINUTE_MS
    readings = list(watches.raw(begin))
    releases, sink = _releases(readings, ticks, mechanism.k), pipeline.sink.topic
    with ThreadPoolExecutor(1) as analyst:
        produce(client, pipeline.source.topic, readings, len(readings), progress)
        client.topic(sink)
        reading = analyst.submit(read_topic, sink, releases, **settings_of(file.connection()))
        sanitize(client, file, releases, progress)
        topic = reading.result()
    return Recovered(
        truth=watches.bpm,
        published=_series(topic, watches, begin, lag=0),
        moved_back=_series(topic, watches, begin, lag=mechanism.pending),
        noisy=_noisy(watches.bpm, epsilon=mechanism.epsilon / 2.0),
        window=mechanism.k,
        lag=mechanism.pending,
    )


def _releases(readings: Sequence[RawRecord], ticks: Ticks, window: int) -> int:
    """One for each person and tick, from the end of the first window to the last closed tick.

    The first reading begins the epoch, whose first tick is the next one.
    """
    latest: dict[int, int] = {}
    first: dict[bytes, int] = {}
    for person, _, time in readings:
        partition = partition_of(person)
        latest[partition] = max(time, latest.get(partition, time))
        first[person] = min(ticks.of(time), first.get(person, ticks.of(time)))
    return sum(
        ticks.closed(latest[partition_of(person)]) - tick - (window - 1)
        for person, tick in first.items()
    )


def _series(
    topic: dict[bytes, list[tuple[int, float]]], watches: Watches, begin: int, *, lag: int
) -> Floats:
    return np.stack(
        [
            by_tick(topic[name], begin=begin, ticks=MINUTES, width=MINUTE_MS, lag=lag)
            for name in watches.names()
        ]
    )


def _noisy(truth: Floats, epsilon: float) -> Floats:
    """Return what Laplace noise on values would leave."""
    random = np.random.default_rng(_NOISE_SEED)
    return truth + random.laplace(0.0, _RANGE_BPM / epsilon, truth.shape)
