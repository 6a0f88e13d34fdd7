"""Measure the state store: an epoch in which part of a large table changed, and a restart.

A row log begins a new generation with the whole table now and then. So a round goes from one new
generation to the next: its mean holds that price, its median is what most epochs cost.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory

import numpy as np

from bench.pickled_state import PickledState, measure_pickled
from bench.stream import key_of
from fugu.dataflows.state.row_log import RowLog, log_files
from fugu.operators.mechanism import Integers, State

FLOATS = 10
PERCENT_CHANGED = (1, 10, 100)
_PARTITION = 0
_SEED = 20240601


class WrongState(RuntimeError):
    """A table was not what it had been after it was loaded."""


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

    command: str
    rows: int
    rounds: int
    load_before: float


@dataclass(frozen=True)
class Epoch:
    """One `append`."""

    seconds: float
    bytes: float


@dataclass(frozen=True)
class RowState:
    """Epochs when so many percent of the rows change in each.

    `longest` restarts read a log just before its new generation, `shortest` just after.
    """

    percent_changed: int
    rounds: list[list[Epoch]]
    longest_restarts: list[float]
    shortest_restarts: list[float]

    @property
    def median(self) -> Epoch:
        """Return what most epochs cost."""
        return _median([epoch for epochs in self.rounds for epoch in epochs])

    @property
    def mean(self) -> Epoch:
        """Over a round, which holds one new generation; the median of the rounds."""
        return _median([_mean(epochs) for epochs in self.rounds])

    @property
    def new_generation(self) -> Epoch:
        """The last epoch of a round; the median of the rounds."""
        return _median([epochs[-1] for epochs in self.rounds])

    @property
    def epochs_a_generation(self) -> float:
        """Return how many epochs one generation serves."""
        return median(len(epochs) for epochs in self.rounds)


@dataclass(frozen=True)
class StateResults:
    """The row log, and the baseline in the same run."""

    settings: Settings
    row_log: list[RowState]
    pickled: PickledState


def measure_state(settings: Settings, say: Callable[[str], None]) -> StateResults:
    """Every share of changed rows in a log of its own; the baseline writes the same table."""
    keys = [key_of(user) for user in range(settings.rows)]
    measured = []
    with TemporaryDirectory(prefix="fugu-bench-") as folder:
        for percent in PERCENT_CHANGED:
            say(f"row log, {percent} % of the rows change")
            path = Path(folder) / f"{percent}-percent"
            path.mkdir()
            log = RowLog(path, _PARTITION, start)
            rows = log.table.rows_of(keys)
            measured.append(_measure(log, rows, percent, settings.rounds))
        say("the whole table pickled into SQLite")
        table = dict(zip(keys, rows.tolist(), strict=True)), log.table.gather(rows)
        pickled = measure_pickled(table, Path(folder) / "pickled", settings.rounds)
    return StateResults(settings, measured, pickled)


def start(rows: int) -> State:
    """The columns of a mechanism with as many symbols as there are floats."""
    return {
        "belief": np.full((rows, FLOATS), 1 / FLOATS),
        "releases": np.zeros(rows, dtype=np.int64),
        "spent": np.zeros(rows, dtype=np.int64),
    }


def _measure(log: RowLog, rows: Integers, percent: int, rounds: int) -> RowState:
    random = np.random.default_rng(_SEED)
    log.append()
    measured, longest, shortest = [], [], []
    for _ in range(rounds):
        before, after, epochs = b"", b"", []
        for pointer, epoch in _epochs(log, rows, percent, random):
            before, after = after, pointer
            epochs.append(epoch)
        measured.append(epochs)
        longest.append(_restart_seconds(log.directory, before, len(rows), None))
        shortest.append(_restart_seconds(log.directory, after, len(rows), log.table.gather(rows)))
    return RowState(percent, measured, longest, shortest)


def _epochs(
    log: RowLog, rows: Integers, percent: int, random: np.random.Generator
) -> Iterator[tuple[bytes, Epoch]]:
    """Pointers and costs up to the next new generation."""
    before, size = _newest(log)
    while True:
        _change(log, random.choice(rows, len(rows) * percent // 100, replace=False), random)
        began = time.perf_counter()
        pointer = log.append()
        seconds = time.perf_counter() - began
        newest, grown = _newest(log)
        if newest != before:
            yield pointer, Epoch(seconds, grown)
            return
        yield pointer, Epoch(seconds, grown - size)
        size = grown


def _change(log: RowLog, rows: Integers, random: np.random.Generator) -> None:
    state = log.table.gather(rows)
    state["belief"] = random.random(state["belief"].shape)
    state["releases"] += 1
    log.table.scatter(rows, state)


def _newest(log: RowLog) -> tuple[Path, int]:
    """The file of the newest generation, and its size."""
    path = log_files(log.directory, _PARTITION)[-1]
    return path, path.stat().st_size


def _restart_seconds(folder: Path, pointer: bytes, rows: int, expected: State | None) -> float:
    log = RowLog(folder, _PARTITION, start)
    began = time.perf_counter()
    log.load(pointer)
    seconds = time.perf_counter() - began
    if len(log.table) != rows:
        raise WrongState(f"{len(log.table)} of {rows} rows were loaded")
    if expected is not None:
        loaded = log.table.gather(np.arange(rows))
        wrong = [name for name in expected if not np.array_equal(loaded[name], expected[name])]
        if wrong:
            raise WrongState(f"columns {wrong} were loaded with other values than were written")
    return seconds


def _median(epochs: list[Epoch]) -> Epoch:
    return Epoch(median(one.seconds for one in epochs), median(one.bytes for one in epochs))


def _mean(epochs: list[Epoch]) -> Epoch:
    return Epoch(fmean(one.seconds for one in epochs), fmean(one.bytes for one in epochs))
