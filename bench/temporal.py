"""Temporal perturbation: time and state by mechanism, window, users and kind of ticks.

Batches go through codec, lift and publisher in one process, without Kafka. Beside them the same
batches are decoded and encoded, which is what passing them through takes.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
from bench.path import Round, measure_path
from bench.pipeline import Workplace, example_stream
from bench.steady_streams import EPSILON, FIELDS, KINDS, TICKS, operator_of, seconds_of, steady_run
from bench.stream import produce
from fugu.dataflows.base.batches import Batch, Decoded
from fugu.operators.mechanism import Array, Releases
from fugu.operators.temporal.temporal_perturbation import is_there
from tests.dataflows.stages.running import Running
from tests.kafka.topics import TopicFactory

WINDOWS = (10, 50, 200)
FEW_USERS = 1_000
PATH_WINDOW = 10
_FEW_RECORDS = 20_000


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

    command: str
    records: int
    rounds: int
    path_users: int
    partitions: int
    most_users: int
    load_before: float


@dataclass(frozen=True)
class Speed:
    """CPU microseconds per record, with and without the operator."""

    mechanism: str
    ticks: str
    window: int
    users: int
    fugu: float
    pass_through: float


@dataclass(frozen=True)
class Size:
    """Bytes of state per user, which are the same for any number of users.

    `memory` is taken by columns and payloads, `stored` in a row log that holds the whole table, and
    `changed` is written for a user who sent one record since the last snapshot, in so many CPU
    microseconds.
    """

    mechanism: str
    ticks: str
    window: int
    memory: float
    stored: float
    changed: float
    microseconds: float


@dataclass(frozen=True)
class TemporalResults:
    """The grids, and one pipeline on a real Kafka beside the stock loop."""

    settings: Settings
    speeds: list[Speed]
    sizes: list[Size]
    path: list[Round]


def measure_temporal(
    folder: Path, bootstrap: str, settings: Settings, say: Callable[[str], None]
) -> TemporalResults:
    """The path first, then the grid."""
    source = TopicFactory(bootstrap)("temporal-source", partitions=settings.partitions)
    operator = operator_of("threshold", PATH_WINDOW) | {"warm_up": "emit"}
    sections = {"operator": operator, "source": {"value": FIELDS}}
    place = Workplace(folder, bootstrap, source, sections)
    say(f"producing {settings.records:,} records")
    stream = example_stream(settings.path_users, settings.partitions)
    produce(place.client, source, stream.outgoing(settings.records))
    path = measure_path(place, settings.partitions, settings.records, settings.rounds, say)
    speeds = measure_speeds(settings.most_users, say)
    return TemporalResults(settings, speeds, measure_sizes(say), path)


def measure_speeds(most_users: int, say: Callable[[str], None]) -> list[Speed]:
    """Measure every mechanism with every window, kind of ticks, and number of users."""
    speeds = []
    for users in (FEW_USERS, most_users):
        say(f"making the records of {users:,} users")
        known, *measured = seconds_of(users, 1 + -(-_FEW_RECORDS // users))
        batches = [batch for second in measured for batch in second]
        for ticks, mechanism, window in product(TICKS, KINDS, WINDOWS):
            say(f"{users:,} users: {mechanism}, k = {window}, {ticks}")
            run = steady_run(mechanism, ticks, window, users)
            release(run, known)
            speeds.append(Speed(mechanism, ticks, window, users, *_microseconds(run, batches)))
    return speeds


def measure_sizes(say: Callable[[str], None]) -> list[Size]:
    """Measure the state of every mechanism with every window and kind of ticks."""
    sizes, (first, second) = [], seconds_of(FEW_USERS, 2)
    for ticks, mechanism, window in product(TICKS, KINDS, WINDOWS):
        say(f"state: {mechanism}, k = {window}, {ticks}")
        run = steady_run(mechanism, ticks, window, FEW_USERS)
        release(run, first)
        stored = len(run.memory.table.take_everything())
        release(run, second)
        began = time.process_time()
        changed = len(run.memory.table.take_changes())
        spent = (time.process_time() - began) * 1e6
        memory = sum(map(_bytes, run.memory.table.columns.values()))
        each = (total / FEW_USERS for total in (memory, stored, changed, spent))
        sizes.append(Size(mechanism, ticks, window, *each))
    return sizes


def release(run: Running, batches: list[Batch]) -> None:
    """All that a run does between its clients."""
    memory = run.memory
    for batch in batches:
        memory.publisher.releases(memory.stage(memory.publisher.codec.decode(batch), memory.table))


def pass_through_of(run: Running, batches: list[Batch]) -> None:
    """The least that is done with a record: it is read and written."""
    codec = run.memory.publisher.codec
    for batch in batches:
        codec.encode(unchanged(codec.decode(batch)))


def unchanged(decoded: Decoded) -> Releases:
    """Every value as the release of its record."""
    numbers = np.arange(len(decoded.offsets))
    notes = {"tick": numbers, "epoch": np.zeros_like(numbers), "phase": np.ones_like(numbers)}
    return Releases(decoded.values, notes)


def _microseconds(run: Running, batches: list[Batch]) -> tuple[float, float]:
    """With and without the operator, in turns."""
    spent = []
    for batch in batches:
        times = [time.process_time()]
        for work in (release, pass_through_of):
            work(run, [batch])
            times.append(time.process_time())
        spent.append(np.diff(times))
    records = sum(len(batch.offsets) for batch in batches)
    fugu, pass_through = np.sum(spent, axis=0) / records * 1e6
    return float(fugu), float(pass_through)


def _bytes(column: Array) -> int:
    """A table has payloads twice: as they are, and as they were written."""
    if column.dtype != object:
        return column.nbytes
    return 2 * column.nbytes + sum(map(sys.getsizeof, column[is_there(column)].tolist()))


# The figures of temporal perturbation as tables.


def temporal_page(results: TemporalResults) -> Page:
    """The pipeline on Kafka, then every mechanism without it."""
    return Page(
        "temporal",
        "Temporal perturbation",
        results.settings.command,
        results.settings.load_before,
        asdict(results),
        [_path(results), *(_grid(results, ticks) for ticks in TICKS)],
        [
            "Without Kafka: codec, operator with its state, and publisher in one process, CPU "
            "time; pass-through decodes and encodes the same batches, in turns. Every user sends a "
            "record of 120 bytes a second, of which about 20 are released. The threshold mechanism "
            f"has the smallest budget of its window, the others have {EPSILON:g} nats.",
            "State, without the key: in memory, columns and payloads; in a row log that holds the "
            "whole table; written, for a user who sent one record since the last snapshot, and CPU "
            f"microseconds to do so. Measured with {FEW_USERS:,} users.",
        ],
    )


def _path(results: TemporalResults) -> Grid:
    settings, path = results.settings, results.path
    pairs = [
        ("records/s", 0, [(r.stock.records_per_second, r.fugu.records_per_second) for r in path]),
        (
            "CPU s per million records",
            1,
            [(r.stock.cpu_seconds_per_million, r.fugu.cpu_seconds_per_million) for r in path],
        ),
        ("peak memory in MiB", 0, [(r.stock.peak_mebibytes, r.fugu.peak_mebibytes) for r in path]),
    ]
    rows = []
    for name, decimals, measured in pairs:
        stock, fugu = (median(values) for values in zip(*measured, strict=True))
        rows.append([name, *figures(decimals, stock, fugu), f"{fugu / stock:.2f}"])
    return Grid(
        f"threshold, k = {PATH_WINDOW}, sequence: {settings.records:,} records by "
        f"{settings.path_users:,} users, {settings.partitions} partitions, real Kafka; median of "
        f"{settings.rounds}",
        ["from first to last output", "stock loop", "fugu run", "fugu / stock"],
        rows,
    )


def _grid(results: TemporalResults, ticks: str) -> Grid:
    speeds = [speed for speed in results.speeds if speed.ticks == ticks]
    users = sorted({speed.users for speed in speeds})
    rows = []
    for size in (size for size in results.sizes if size.ticks == ticks):
        law = size.mechanism, size.window
        rows.append(
            [
                f"{size.mechanism}, {size.window}",
                *(
                    cell
                    for speed in speeds
                    if (speed.mechanism, speed.window) == law
                    for cell in (
                        *figures(0, 1e6 / speed.fugu),
                        *figures(2, speed.pass_through / speed.fugu),
                    )
                ),
                *figures(0, size.memory, size.stored, size.changed),
                *figures(1, size.microseconds),
            ]
        )
    rates = [name for count in users for name in (f"{count:,} users", "/ pass-through")]
    return Grid(
        f"Ticks: {ticks}; records/s without Kafka, and bytes of state a user",
        ["mechanism, window", *rates, "memory", "row log", "written", "µs"],
        rows,
    )
