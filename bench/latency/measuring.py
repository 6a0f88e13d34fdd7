"""Run `fugu` with a clock on what the end of an epoch does: `python -m bench.latency.measuring`.

    TRACE ARGUMENTS...

The arguments are those of `fugu`. TRACE is written when it stops: the milliseconds of each end of
an epoch, all of them and by part. An end lasts from the first snapshot of a source to the next
look at the source; what is no other part is bytewax and its recovery store.
"""

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from threading import get_ident
from typing import Any

import numpy as np
import orjson

from bench.comparison.contestants import FUGU, Fugu, Peer, Place
from bench.comparison.environments import environment
from bench.comparison.measuring import Bench, Latency
from bench.grid import Grid, figures
from bench.page import Page
from fugu.dataflows.commands.cli.fugu import main
from fugu.dataflows.kafka.native.writer import NativeWriter
from fugu.dataflows.kafka.sink import KafkaSinkPart
from fugu.dataflows.kafka.source import KafkaSourcePart
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.row_log import BlockLog
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import WritesBeside

REST = "bytewax and its recovery store"
WHOLE = "end of an epoch"
COLLECTION = "garbage collection"
PARTS: list[tuple[type, str, str]] = [
    (NativeWriter, "flush", "waiting for acknowledgements"),
    (KafkaSinkPart, "write_batch", "writing the last records"),
    (Sanitize, "on_batch", "sanitizing the last records"),
    (RowTable, "take_changes", "making blocks"),
    (RowTable, "take_everything", "making blocks"),
    (BlockLog, "_write", "writing blocks, fsync"),
    (WritesBeside, "wait", "waiting for blocks"),
]


class Trace:
    """Hold times of the thread of one dataflow."""

    def __init__(self) -> None:
        self.ends: list[dict[str, float]] = []
        self.collections: list[float] = []
        self._began: float | None = None
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._collecting = 0.0
        self._thread: int | None = None
        self._first: KafkaSourcePart | None = None

    def begin(self, part: KafkaSourcePart) -> None:
        """Note the first snapshot of an epoch's end."""
        if self._began is None:
            self._began, self._thread, self._first = time.perf_counter(), get_ident(), part

    def look(self, part: KafkaSourcePart) -> None:
        """Note that the part which was first is looked at again: the epoch has ended."""
        if self._began is None or part is not self._first:
            return
        whole = (time.perf_counter() - self._began) * 1e3
        known = sum(self._parts.values())
        self.ends.append({WHOLE: whole, **self._parts, REST: whole - known})
        self._began = None
        self._parts.clear()

    def add(self, part: str, seconds: float) -> None:
        """Count a part of an epoch's end."""
        if self._began is not None and get_ident() == self._thread:
            self._parts[part] += seconds * 1e3

    def collection(self, phase: str, info: dict[str, int]) -> None:
        """Time a garbage collection."""
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            if self.ends:
                self.collections.append((time.perf_counter() - self._collecting) * 1e3)


def watch(trace: Trace) -> None:
    """Put the clock on the parts."""
    for owner, method, part in PARTS:
        _replace(owner, method, partial(_timed, trace, part))
    _replace(KafkaSourcePart, "snapshot", partial(_first, trace.begin))
    _replace(KafkaSourcePart, "next_batch", partial(_first, trace.look))
    gc.callbacks.append(trace.collection)


def _replace(owner: type, method: str, made: Callable[[Any], Any]) -> None:
    setattr(owner, method, made(getattr(owner, method)))


def _timed(trace: Trace, part: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return original(*arguments)
        finally:
            trace.add(part, time.perf_counter() - began)

    return timed


def _first(
    first: Callable[[KafkaSourcePart], None], original: Callable[..., Any]
) -> Callable[..., Any]:
    def both(part: KafkaSourcePart) -> Any:
        first(part)
        return original(part)

    return both


if __name__ == "__main__":
    path = Path(sys.argv.pop(1))
    trace = Trace()
    watch(trace)
    try:
        main()
    finally:
        path.write_bytes(orjson.dumps({"ends": trace.ends, "collections": trace.collections}))


# Measure the age of releases when they are appended, with epochs, without, and beside a loop.


NO_EPOCHS = "1h"
_FIRST_ENDS = 3
"""Ends of epochs before the paced producer is at work."""

LOOP = Peer("vectorised", "hand-vectorised loop", "vectorised_loop")


@dataclass(frozen=True)
class Settings:
    """Hold what was asked for, and how busy the machine was already (load average of a minute)."""

    command: str
    rates: Sequence[float]
    rounds: int
    every: str
    load_before: float


@dataclass(frozen=True)
class TracedFugu(Fugu):
    """Start `fugu run` with a clock on the ends of epochs, in the bench's own environment."""

    trace: Path = Path()

    def command(self, python: Path, place: Place) -> list[str]:
        """Name the file that the trace goes to."""
        _, _, _, *arguments = super().command(python, place)
        return [sys.executable, "-m", "bench.latency.measuring", str(self.trace), *arguments]


@dataclass(frozen=True)
class Part:
    """Hold milliseconds of one part of an epoch's end."""

    name: str
    median: float
    p90: float
    largest: float


@dataclass(frozen=True)
class Run:
    """Hold one measurement; `parts` are those of the ends of epochs, if there were any."""

    title: str
    latency: Latency
    parts: Sequence[Part]


def measure_latency(bench: Bench, settings: Settings, say: Callable[[str], None]) -> list[Run]:
    """Measure all rates, round after round."""
    trace = bench.folder / "trace.json"
    with_epochs = TracedFugu("fugu", "", FUGU.environment, kafka=FUGU.kafka, trace=trace)
    python = environment(LOOP.environment, say)
    runs = []
    for number in range(1, settings.rounds + 1):
        for rate in settings.rates:
            for title, every in (
                (f"Fugu, an epoch every {settings.every}", settings.every),
                ("Fugu, no epochs", NO_EPOCHS),
            ):
                say(f"round {number} of {settings.rounds}: {rate:,.0f} records/s, {title}")
                contestant = replace(with_epochs, state={"every": every})
                latency = bench.latency(contestant, Path(sys.executable), rate)
                runs.append(Run(title, latency, read_trace(trace)))
            say(f"round {number} of {settings.rounds}: {rate:,.0f} records/s, {LOOP.title}")
            runs.append(Run(LOOP.title, bench.latency(LOOP, python, rate), ()))
    return runs


def read_trace(path: Path) -> list[Part]:
    """Return the parts of ends of epochs, largest first, and garbage collections."""
    trace = orjson.loads(path.read_bytes())
    ends = trace["ends"][_FIRST_ENDS:]
    names = {name for end in ends for name in end}
    parts = [_part(name, [end.get(name, 0.0) for end in ends]) for name in names]
    parts.sort(key=lambda part: (part.name != WHOLE, -part.median, -part.p90))
    if trace["collections"] and parts:
        parts.append(_part(COLLECTION, trace["collections"]))
    return parts


def _part(name: str, milliseconds: Sequence[float]) -> Part:
    return Part(name, *np.percentile(milliseconds, [50, 90, 100]).tolist())


# Show latencies as a table, and what the ends of epochs were busy with.


def latency_page(settings: Settings, runs: Sequence[Run]) -> Page:
    """Make the page of a measurement."""
    grids = [_latencies(settings, runs)]
    grids += [
        _parts(f"{title} at {rate:,.0f} records/s: an epoch's end, ms", one)
        for title, rate, one in _cases(runs)
        if one[0].parts and title != "Fugu, no epochs"
    ]
    return Page(
        "latency",
        "Latency",
        settings.command,
        settings.load_before,
        {"settings": asdict(settings), "runs": [asdict(one) for one in runs]},
        grids,
        [
            "From the broker's append of a record to that of its release; medians of the rounds.",
            "An epoch's end lasts from the first snapshot to the next look at the source. Parts "
            "are those of the dataflow's thread; blocks are written beside it.",
        ],
    )


def _latencies(settings: Settings, runs: Sequence[Run]) -> Grid:
    rows = []
    for title, rate, some in _cases(runs):
        of = [one.latency for one in some]
        rows.append(
            [
                title,
                *figures(0, rate),
                *figures(0, *(median(getattr(one, name) for one in of) for name in ("p50", "p99"))),
                *figures(0, max(one.largest for one in of)),
                *figures(0, 100 * median(one.processors for one in of)),
            ]
        )
    header = ["ms", "records/s", "p50", "p99", "largest", "CPU %"]
    return Grid(f"Latency, {settings.rounds} rounds", header, rows)


def _parts(title: str, runs: Sequence[Run]) -> Grid:
    found: dict[str, list[Part]] = {}
    for run in runs:
        for part in run.parts:
            found.setdefault(part.name, []).append(part)
    rows = [
        [
            name,
            *figures(1, median(part.median for part in parts), median(part.p90 for part in parts)),
            *figures(1, max(part.largest for part in parts)),
        ]
        for name, parts in found.items()
    ]
    return Grid(title, ["part", "median", "p90", "largest"], rows)


def _cases(runs: Sequence[Run]) -> list[tuple[str, float, list[Run]]]:
    cases: dict[tuple[str, float], list[Run]] = {}
    for run in runs:
        cases.setdefault((run.title, run.latency.records_per_second), []).append(run)
    return [(title, rate, some) for (title, rate), some in cases.items()]
