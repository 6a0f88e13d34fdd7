"""What one step costs per row, by the number of rows that one call advances.

A numpy call has a fixed price: a hot key pays it for a single row, a busy topic shares it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.recorded import Recording
from dataflows.flow import Plan
from operators.mechanism import Inputs
from operators.randomness import record_positions

ROWS_PER_CALL = (1, 100, 1_000)
_WARM_STEPS = 20
_SECONDS = 0.5


@dataclass(frozen=True)
class StepCost:
    """CPU microseconds per row."""

    rows_per_call: int
    kernel: float
    words: float


def measure_kernel(plan: Plan, symbols: int) -> list[StepCost]:
    """Steps of streams that have released something before, so that their beliefs differ."""
    return [_measure(plan, symbols, rows) for rows in ROWS_PER_CALL]


def _measure(plan: Plan, symbols: int, rows: int) -> StepCost:
    mechanism = Recording(plan.mechanism)
    keys = [b"user-%06d" % row for row in range(rows)]
    state = mechanism.start(rows)
    for number in range(_WARM_STEPS):
        offsets = range(number * rows, (number + 1) * rows)
        draws = plan.scope.draws(keys, record_positions("bench", 0, offsets))
        state, _ = mechanism.step(state, Inputs((np.arange(rows) + number) % symbols), draws)
    step = mechanism.steps[-1]
    known_draws = step.known_draws

    def kernel() -> None:
        plan.mechanism.step(step.before, step.inputs, known_draws)

    def words() -> None:
        draws = plan.scope.draws(step.keys, step.positions)
        for call in step.calls:
            call.ask(draws)

    return StepCost(rows, _microseconds(kernel) / rows, _microseconds(words) / rows)


def _microseconds(call: Callable[[], None]) -> float:
    """Mean CPU time of one call, over calls that together take about half a second."""
    calls, began = 0, time.process_time()
    while (spent := time.process_time() - began) < _SECONDS:
        call()
        calls += 1
    return spent / calls * 1e6
