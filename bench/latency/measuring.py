"""Measure the age of releases when they are appended, with epochs, without, and beside a loop."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import orjson

from bench.comparison.contestants import FUGU, Fugu, Peer, Place
from bench.comparison.environments import environment
from bench.comparison.measuring import Bench, Latency
from bench.latency.traced import COLLECTION, WHOLE

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
        return [sys.executable, "-m", "bench.latency.traced", str(self.trace), *arguments]


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
