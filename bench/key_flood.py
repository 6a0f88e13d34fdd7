"""A flood of new keys: a million records of as many keys, with room for a tenth of them.

Beside it the same number of records of keys that all have room, over a source topic of their own.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import psutil
from confluent_kafka import Producer

from bench.child import Measured, measure
from bench.grid import Grid, figures
from bench.outcomes import Outcomes, check_outcomes
from bench.page import Page
from bench.pipeline import Workplace, example_stream
from bench.stream import key_of
from fugu.dataflows.flows.state_directories import shard_directories
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.topics import find_topics
from tests.kafka.topics import TopicFactory

PERCENT = (10, 20, 30, 40, 60, 80, 100)
"""Shares of the outcomes at which memory is reported."""
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

    command: str
    records: int
    max_keys: int
    partitions: int
    load_before: float


@dataclass(frozen=True)
class Run:
    """Hold what one `fugu run` did; resident memory by percent of the outcomes that were there."""

    measured: Measured
    mebibytes: dict[int, float]
    outcomes: Outcomes
    state_bytes: int


@dataclass(frozen=True)
class Flood:
    """A run over keys of which most are refused, and one over keys that are all known."""

    settings: Settings
    flood: Run
    known: Run


def measure_flood(
    folder: Path, bootstrap: str, settings: Settings, say: Callable[[str], None]
) -> Flood:
    """Both runs, one after the other; `WrongOutcomes` if a record was lost or counted twice."""
    records, keys, partitions = settings.records, settings.max_keys, settings.partitions

    def run(name: str, sent: Iterator[tuple[int, bytes]], max_keys: int, room: int) -> Run:
        say(f"{name}: producing {records:,} records")
        source = TopicFactory(bootstrap)(name, partitions=partitions)
        _produce(bootstrap, source, sent)
        place = Workplace(folder, bootstrap, source)
        file = place.pipeline(name, source={"partitioner": "murmur2"}, state={"max_keys": max_keys})
        say(f"{name}: fugu run")
        measured, mebibytes = _measure(place, file, partitions, records)
        say(f"{name}: checking every outcome")
        return Run(measured, mebibytes, check_outcomes(file, room), _state_bytes(file))

    flood, known = example_stream(records), example_stream(keys)
    return Flood(
        settings,
        flood=run("flood", flood.one_each(), keys, room=-(-keys // partitions)),
        known=run("known", islice(known.records(), records), keys * partitions, room=records),
    )


def _produce(bootstrap: str, topic: str, sent: Iterator[tuple[int, bytes]]) -> None:
    """Every record where the default partitioner of Java producers puts its key."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 20}
    )
    for user, value in sent:
        while True:
            try:
                producer.produce(topic, key=key_of(user), value=value)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def _measure(
    place: Workplace, file: PipelineFile, partitions: int, records: int
) -> tuple[Measured, dict[int, float]]:
    topics = find_topics(place.client, file.pipeline)
    mebibytes: dict[int, float] = {}

    def note_memory(process: int, published: int) -> None:
        resident = psutil.Process(process).memory_info().rss / 2**20
        for percent in PERCENT:
            if published * 100 >= percent * records:
                mebibytes.setdefault(percent, resident)

    with (
        closing(place.client.reader(topics.sink.name)) as sink,
        closing(place.client.reader(topics.dead_letters.name)) as dead,
    ):

        def published() -> int:
            every = list(range(partitions))
            return sum(
                bounds.end for reader in (sink, dead) for bounds in reader.bounds(every).values()
            )

        measured = measure(
            ["-m", "fugu", "run", str(file.path)],
            place.folder / f"{topics.sink.name}.log",
            records,
            published,
            watch=note_memory,
            look_seconds=_LOOK_SECONDS,
        )
    return measured, mebibytes


def _state_bytes(file: PipelineFile) -> int:
    return sum(
        path.stat().st_size
        for directory in shard_directories(file)
        for path in directory.path.rglob("*")
        if path.is_file()
    )


# The figures of a key flood as tables.


_FULL = 30
"""Percent of the outcomes at which the table has long been full."""


def flood_page(measured: Flood) -> Page:
    """The runs beside each other, then their memory over time."""
    return Page(
        "flood",
        "A flood of new keys",
        measured.settings.command,
        measured.settings.load_before,
        asdict(measured),
        [_runs(measured), _memory(measured)],
        [
            "Every outcome was read back from Kafka and checked: in each partition the first keys "
            "up to the partition's share of `max_keys` are released, every other record has one "
            "dead letter, nothing is lost or published twice. A process that ends before it is "
            "told to has no figures here: the measurement fails. The runs come one after the "
            "other; where the machine was busy, compare CPU seconds.",
        ],
    )


def _runs(measured: Flood) -> Grid:
    settings, flood, known = measured.settings, measured.flood, measured.known
    reasons = sorted({*flood.outcomes.dead_letters, *known.outcomes.dead_letters})
    pairs = [
        ("records/s", 0, flood.measured.records_per_second, known.measured.records_per_second),
        (
            "CPU s per million records",
            1,
            flood.measured.cpu_seconds_per_million,
            known.measured.cpu_seconds_per_million,
        ),
        ("peak memory in MiB", 0, flood.measured.peak_mebibytes, known.measured.peak_mebibytes),
        ("state directory in MiB", 1, flood.state_bytes / 2**20, known.state_bytes / 2**20),
    ]
    return Grid(
        f"{settings.records:,} records, room for {settings.max_keys:,} keys, "
        f"{settings.partitions} partitions, real Kafka",
        [
            "fugu run",
            f"flood: {settings.records:,} keys",
            f"known: {settings.max_keys:,} keys",
            "flood / known",
        ],
        [
            ["releases", *figures(0, flood.outcomes.releases, known.outcomes.releases), ""],
            *(
                [
                    f"dead letters: {reason}",
                    *figures(
                        0, *(run.outcomes.dead_letters.get(reason, 0) for run in (flood, known))
                    ),
                    "",
                ]
                for reason in reasons
            ),
            *(
                [name, *figures(decimals, first, second), f"{first / second:.2f}"]
                for name, decimals, first, second in pairs
            ),
        ],
    )


def _memory(measured: Flood) -> Grid:
    runs = measured.flood.mebibytes, measured.known.mebibytes
    return Grid(
        "Resident memory by records that have an outcome",
        ["MiB", "flood", "known"],
        [
            *(
                [f"at {percent} %", *figures(0, *(run[percent] for run in runs))]
                for percent in PERCENT
            ),
            [
                f"100 % / {_FULL} %",
                *figures(2, *(run[100] / run[_FULL] for run in runs)),
            ],
        ],
    )
