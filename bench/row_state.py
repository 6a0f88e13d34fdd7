"""Measure the state store: an epoch in which part of a large table changed, and a restart.

A row log begins a new generation with the whole table now and then. So a round goes from one new
generation to the next: its mean holds that price, its median is what most epochs cost.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
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


# The figures of the state store as tables.


_MEBIBYTE = 2**20


def state_page(measured: StateResults) -> Page:
    """Epochs and restarts, beside the baseline."""
    settings = measured.settings
    return Page(
        "state",
        "The state store",
        settings.command,
        settings.load_before,
        _document(measured),
        [_epoch_rows(measured), _restarts(measured)],
        [
            "Every write is on the disk before the next one begins, and both stores are on the "
            "same disk. Restarts read what was just written, so mostly from memory.",
        ],
    )


def _document(measured: StateResults) -> dict[str, object]:
    """Return the document without single epochs: a round has more than a hundred."""
    return {
        "settings": asdict(measured.settings),
        "row_log": [
            {
                "percent_changed": one.percent_changed,
                "median": asdict(one.median),
                "mean": asdict(one.mean),
                "new_generation": asdict(one.new_generation),
                "epochs_a_generation": one.epochs_a_generation,
                "shortest_restarts": one.shortest_restarts,
                "longest_restarts": one.longest_restarts,
            }
            for one in measured.row_log
        ],
        "pickled": asdict(measured.pickled),
    }


def _epoch_rows(measured: StateResults) -> Grid:
    settings, logs, pickled = measured.settings, measured.row_log, measured.pickled
    medians, means = [one.median for one in logs], [one.mean for one in logs]
    generations = [one.new_generation for one in logs]
    seconds, mebibytes = median(pickled.epochs), pickled.bytes / _MEBIBYTE
    return Grid(
        f"One epoch of {settings.rows:,} rows of {FLOATS} floats; {settings.rounds} rounds",
        [
            "rows that changed",
            *(f"{one.percent_changed} %" for one in logs),
            "pickled into SQLite",
        ],
        [
            ["seconds, median", *figures(3, *(one.seconds for one in medians), seconds)],
            ["· pickled / row log", *figures(1, *(seconds / one.seconds for one in medians)), ""],
            ["seconds, mean", *figures(3, *(one.seconds for one in means), seconds)],
            ["· pickled / row log", *figures(1, *(seconds / one.seconds for one in means)), ""],
            ["MiB, median", *figures(1, *(one.bytes / _MEBIBYTE for one in medians), mebibytes)],
            ["MiB, mean", *figures(1, *(one.bytes / _MEBIBYTE for one in means), mebibytes)],
            ["new generation: seconds", *figures(3, *(one.seconds for one in generations)), ""],
            [
                "new generation: MiB",
                *figures(1, *(one.bytes / _MEBIBYTE for one in generations)),
                "",
            ],
            ["· once in epochs", *figures(0, *(one.epochs_a_generation for one in logs)), ""],
        ],
    )


def _restarts(measured: StateResults) -> Grid:
    logs, pickled = measured.row_log, median(measured.pickled.restarts)
    shortest = [median(one.shortest_restarts) for one in logs]
    longest = [median(one.longest_restarts) for one in logs]
    return Grid(
        "One restart",
        ["seconds", *(f"{one.percent_changed} %" for one in logs), "pickled into SQLite"],
        [
            ["just after a new generation", *figures(2, *shortest, pickled)],
            ["· pickled / row log", *figures(2, *(pickled / one for one in shortest)), ""],
            ["just before a new generation", *figures(2, *longest, pickled)],
            ["· pickled / row log", *figures(2, *(pickled / one for one in longest)), ""],
        ],
    )
