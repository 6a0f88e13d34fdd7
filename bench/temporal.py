"""Temporal perturbation: time and state by mechanism, window, users and kind of ticks.

Batches go through codec, lift and publisher in one process, without Kafka. Beside them the same
batches are decoded and encoded, which is what passing them through takes.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from bench.path import Round, measure_path
from bench.pipeline import Workplace, example_stream
from bench.steady_streams import FIELDS, KINDS, TICKS, operator_of, seconds_of, steady_run
from bench.stream import produce
from fugu.dataflows.base.batches import Batch, Decoded
from fugu.operators.mechanism import Array, Releases
from fugu.operators.temporal.payloads import is_there
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
