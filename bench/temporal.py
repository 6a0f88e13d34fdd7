"""Temporal perturbation: time and state by mechanism, window, users and kind of ticks.

Batches go through codec, lift and publisher in one process, without Kafka. Beside them the same
batches are decoded and encoded, which is what passing them through takes. Every user sends a record
a second. The states are steady: those of a few users after a window, copied to all.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.path import Round, measure_path
from bench.pipeline import Workplace, example_stream
from bench.stream import key_of, produce
from dataflows.batches import Batch, Decoded
from operators.mechanism import Array, Inputs, Releases, State
from operators.randomness import DrawScope, record_positions
from operators.temporal.dispatch_law import smallest_budget
from operators.temporal.payloads import is_there
from operators.temporal.temporal_perturbation import TemporalPerturbation
from tests.dataflows.temporal.running import SECRET, Running, pipeline_file
from tests.kafka.topics import TopicFactory

WINDOWS = (10, 50, 200)
FEW_USERS = 1_000
EPSILON = 2.0
KINDS = {
    "threshold": "threshold_perturbation",
    "extended threshold": "extended_threshold_perturbation",
    "backward": "backward_perturbation",
    "forward": "forward_perturbation",
}
TICKS: dict[str, Any] = {"sequence": "sequence", "interval": {"width": "1s", "grace": "0s"}}
FIELDS = ["bpm", "battery"]
PATH_WINDOW = 10
_SECOND = 1_000
_BATCH = 5_000
_FEW_RECORDS = 20_000
_STEADY_USERS = 500
_COPY = np.frompyfunc(lambda payload: payload and bytes(bytearray(payload)), 1, 1)


@dataclass(frozen=True)
class Settings:
    """What was asked for, and how busy the machine was already (load average of a minute)."""

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
    `changed` is written for a user who sent one record since the last snapshot.
    """

    mechanism: str
    ticks: str
    window: int
    memory: float
    stored: float
    changed: float


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
    """Of every mechanism with every window, kind of ticks, and number of users."""
    speeds = []
    for users in (FEW_USERS, most_users):
        say(f"making the records of {users:,} users")
        known, *measured = seconds_of(users, 1 + -(-_FEW_RECORDS // users))
        for ticks, mechanism, window in product(TICKS, KINDS, WINDOWS):
            say(f"{users:,} users: {mechanism}, k = {window}, {ticks}")
            run = steady_run(mechanism, ticks, window, users)
            release(run, known)
            speeds.append(Speed(mechanism, ticks, window, users, *_microseconds(run, measured)))
    return speeds


def measure_sizes(say: Callable[[str], None]) -> list[Size]:
    """Of every mechanism with every window and kind of ticks."""
    sizes, (first, second) = [], seconds_of(FEW_USERS, 2)
    for ticks, mechanism, window in product(TICKS, KINDS, WINDOWS):
        say(f"state: {mechanism}, k = {window}, {ticks}")
        run = steady_run(mechanism, ticks, window, FEW_USERS)
        release(run, first)
        stored = len(run.table.take_everything())
        release(run, second)
        changed = len(run.table.take_changes())
        memory = sum(map(_bytes, run.table.columns.values()))
        each = (size / FEW_USERS for size in (memory, stored, changed))
        sizes.append(Size(mechanism, ticks, window, *each))
    return sizes


def operator_of(mechanism: str, window: int) -> dict[str, Any]:
    """The threshold mechanism has its smallest budget, the others a common one."""
    if mechanism == "threshold":
        law: dict[str, Any] = {"threshold": smallest_budget(window)[1]}
    else:
        law = {"threshold": None, "epsilon": EPSILON}
    return {"kind": KINDS[mechanism], "window": window, **law}


def seconds_of(users: int, seconds: int) -> list[list[Batch]]:
    """A record of every user, second by second, as fetches return them."""
    stream = example_stream(users)
    sent = []
    for second in range(seconds):
        records = stream.one_each(seed=second)
        batches: list[Batch] = []
        while chunk := list(islice(records, _BATCH)):
            first = second * users + len(batches) * _BATCH
            batches.append(
                Batch(
                    partition=0,
                    offsets=list(range(first, first + len(chunk))),
                    timestamps=[second * _SECOND] * len(chunk),
                    keys=[key_of(user) for user, _ in chunk],
                    values=[value for _, value in chunk],
                    headers=[[] for _ in chunk],
                )
            )
        sent.append(batches)
    return sent


def steady_run(mechanism: str, ticks: str, window: int, users: int) -> Running:
    """A pipeline without Kafka whose users are all known."""
    operator = operator_of(mechanism, window) | {"ticks": TICKS[ticks]}
    with TemporaryDirectory(prefix="fugu-bench-") as folder:
        source = {"value": FIELDS, "timestamp": "kafka"}
        run = Running(pipeline_file(Path(folder), source, operator), max_keys=users)
    fill(run, users)
    return run


def fill(run: Running, users: int) -> None:
    """Give every user a steady state, with payloads of their own."""
    mechanism, table = run.configured.mechanism, run.table
    assert isinstance(mechanism, TemporalPerturbation)
    steady = steady_state(mechanism)
    rows = table.rows_of([key_of(user) for user in range(users)])
    state = table.gather(rows) | {
        name: column[rows % _STEADY_USERS] for name, column in steady.items()
    }
    state["slots"] = _COPY(state["slots"])
    if "running" in state:
        state["running"][:] = True
    table.scatter(rows, state)


def steady_state(mechanism: TemporalPerturbation) -> State:
    """A few users after a window of values."""
    scope = DrawScope(SECRET, "bench", mechanism.kind, 1, mechanism.law_digest())
    state = mechanism.start(_STEADY_USERS)
    keys = [key_of(user) for user in range(_STEADY_USERS)]
    for tick in range(mechanism.k):
        values = np.full(_STEADY_USERS, b'{"bpm":%d,"battery":%d}' % (50 + tick, tick), object)
        offsets = range(tick * _STEADY_USERS, (tick + 1) * _STEADY_USERS)
        draws = scope.draws(keys, record_positions("bench", 0, offsets))
        state, _ = mechanism.step(state, Inputs(values), draws)
    return state


def release(run: Running, batches: list[Batch]) -> None:
    """All that a run does between its clients."""
    for batch in batches:
        run.publisher.releases(run.lift(run.configured.codec.decode(batch), run.table))


def pass_through_of(run: Running, batches: list[Batch]) -> None:
    """The least that is done with a record: it is read and written."""
    codec = run.configured.codec
    for batch in batches:
        codec.encode(unchanged(codec.decode(batch)))


def unchanged(decoded: Decoded) -> Releases:
    """Every value as the release of its record."""
    numbers = np.arange(len(decoded.offsets))
    notes = {"tick": numbers, "epoch": np.zeros_like(numbers), "phase": np.ones_like(numbers)}
    return Releases(decoded.values, notes)


def _microseconds(run: Running, seconds: list[list[Batch]]) -> tuple[float, float]:
    """With and without the operator, in turns."""
    spent = []
    for batches in seconds:
        times = [time.process_time()]
        for work in (release, pass_through_of):
            work(run, batches)
            times.append(time.process_time())
        spent.append(np.diff(times))
    records = sum(len(batch.offsets) for batches in seconds for batch in batches)
    fugu, pass_through = np.sum(spent, axis=0) / records * 1e6
    return float(fugu), float(pass_through)


def _bytes(column: Array) -> int:
    if column.dtype != object:
        return column.nbytes
    return column.nbytes + sum(map(sys.getsizeof, column[is_there(column)].tolist()))
