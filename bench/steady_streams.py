"""Temporal pipelines that have long been steady, without Kafka, and the records that they are fed.

Every user sends a record a second. States are those of a few users after a window, copied to all.
"""

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.pipeline import example_stream
from bench.stream import key_of
from fugu.dataflows.base.batches import Batch
from fugu.operators.mechanism import Inputs, State
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.temporal.dispatch_law import smallest_budget
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import SECRET, Running

EPSILON = 2.0
KINDS = {
    "threshold": "threshold_perturbation",
    "extended threshold": "extended_threshold_perturbation",
    "backward": "backward_perturbation",
    "forward": "forward_perturbation",
}
TICKS: dict[str, Any] = {"sequence": "sequence", "interval": {"width": "1s", "grace": "0s"}}
FIELDS = ["bpm", "battery"]
_SECOND = 1_000
_BATCH = 5_000
_FEW_USERS = 500
_COPY = np.frompyfunc(lambda payload: payload and bytes(bytearray(payload)), 1, 1)


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
    mechanism, table = run.memory.stage.mechanism, run.memory.table
    assert isinstance(mechanism, TemporalPerturbation)
    steady = steady_state(mechanism)
    rows = table.rows_of([key_of(user) for user in range(users)])
    state = table.gather(rows) | {
        name: column[rows % _FEW_USERS] for name, column in steady.items()
    }
    state["slots"] = _COPY(state["slots"])
    if "running" in state:
        state["running"][:] = True
    table.scatter(rows, state)


def steady_state(mechanism: TemporalPerturbation) -> State:
    """A few users after a window of values."""
    scope = DrawScope(SECRET, "bench", mechanism.kind, 1, mechanism.law_digest())
    state = mechanism.start(_FEW_USERS)
    keys = [key_of(user) for user in range(_FEW_USERS)]
    for tick in range(mechanism.k):
        values = np.full(_FEW_USERS, b'{"bpm":%d,"battery":%d}' % (50 + tick, tick), object)
        offsets = range(tick * _FEW_USERS, (tick + 1) * _FEW_USERS)
        draws = scope.draws(keys, record_positions("bench", 0, offsets))
        state, _ = mechanism.step(state, Inputs(values), draws)
    return state
