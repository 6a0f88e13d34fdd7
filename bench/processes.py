"""`fugu run --processes 1` beside `--processes 2`, in turn, over the same source topic."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from statistics import median

from bench.child import ChildFailed, measure
from bench.grid import Grid, figures
from bench.page import Page
from bench.path import Settings
from bench.pipeline import Workplace, example_stream
from bench.stream import produce
from fugu.dataflows.pipeline.topics import find_topics

CLAIM = 1.7
"""The gain in records/s of two processes, where each has a processor beside the broker."""
_PROCESSORS = 3


@dataclass(frozen=True)
class Round:
    """Records/s of each."""

    one: float
    two: float

    @property
    def ratio(self) -> float:
        """Return the figure of two processes relative to that of one."""
        return self.two / self.one


@dataclass(frozen=True)
class Results:
    """The claim is measured only where two processors are free beside the broker."""

    settings: Settings
    processors: int
    rounds: list[Round]

    @property
    def ratio(self) -> float:
        """The median."""
        return median(one.ratio for one in self.rounds)

    @property
    def is_claim_measured(self) -> bool:
        """Return whether there are processors enough."""
        return self.processors >= _PROCESSORS

    @property
    def document(self) -> dict[str, object]:
        """All of it."""
        claim = self.ratio >= CLAIM if self.is_claim_measured else "not measured"
        return {"ratio": self.ratio, f"at least {CLAIM}": claim, **asdict(self)}


def measure_processes(place: Workplace, settings: Settings, say: Callable[[str], None]) -> Results:
    """Fill the source topic, then alternate."""
    say(f"producing {settings.records:,} records")
    stream = example_stream(settings.users, settings.partitions)
    produce(place.client, place.source, stream.outgoing(settings.records))
    rounds = []
    for number in range(1, settings.rounds + 1):
        rates = []
        for processes in (1, 2):
            say(f"round {number} of {settings.rounds}: {processes} of 2 processes")
            rates.append(_records_per_second(place, settings, processes, number))
        rounds.append(Round(*rates))
    return Results(settings, len(os.sched_getaffinity(0)), rounds)


def _records_per_second(place: Workplace, settings: Settings, processes: int, number: int) -> float:
    """While all partitions are worked on: all have begun, and none has come to its end."""
    name = f"processes-{processes}-round-{number}"
    file = place.pipeline(name, state={"shards": settings.partitions})
    sink = find_topics(place.client, file.pipeline).sink.name
    partitions = list(range(settings.partitions))
    busy: list[tuple[float, int]] = []
    with closing(place.client.reader(place.source)) as source:
        whole = [bounds.end for bounds in source.bounds(partitions).values()]
    with closing(place.client.reader(sink)) as reader:

        def published() -> int:
            ends = [bounds.end for bounds in reader.bounds(partitions).values()]
            if all(0 < end < all_ for end, all_ in zip(ends, whole, strict=True)):
                busy.append((time.perf_counter(), sum(ends)))
            return sum(ends)

        arguments = ["-m", "fugu", "run", str(file.path), "--processes", str(processes)]
        measure(arguments, place.folder / f"{sink}.log", settings.records, published)
    if len(busy) < 2:
        raise ChildFailed("not all partitions were worked on at once: measure more records")
    (began, first), (ended, last) = busy[0], busy[-1]
    return (last - first) / (ended - began)


# The figures of one and two processes as a table, and what they say about the claim.


def processes_page(results: Results) -> Page:
    """Return what a person wants to know."""
    settings, rounds = results.settings, results.rounds
    medians = median(one.one for one in rounds), median(one.two for one in rounds)
    rows = [["median", *figures(0, *medians), *figures(2, results.ratio)]]
    rows += [
        [f"· round {number}", *figures(0, one.one, one.two), *figures(2, one.ratio)]
        for number, one in enumerate(rounds, start=1)
    ]
    grid = Grid(
        f"{settings.records:,} records by {settings.users:,} users, {settings.partitions} "
        "partitions and shards, real Kafka on the same machine",
        ["records/s", "1 process", "2 processes", "ratio"],
        rows,
    )
    return Page(
        "processes",
        "Processes",
        settings.command,
        settings.load_before,
        results.document,
        [grid],
        [
            "Counted while all partitions are worked on: all have begun, none has come to its end.",
            _verdict(results),
        ],
    )


def _verdict(results: Results) -> str:
    claim = f"Two processes do at least {CLAIM} times the records/s of one"
    if not results.is_claim_measured:
        return (
            f"{claim}: not measured. Two processors must be free beside the broker, and this "
            f"machine has {results.processors} in all; the ratio is for information only."
        )
    return f"{claim}: {'yes' if results.ratio >= CLAIM else 'no'}, {results.ratio:.2f}."
