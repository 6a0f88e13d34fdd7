"""Measure every local operator per record, by the number of users and the spread of keys.

Batches of decoded records go through the lift of one partition, without Kafka. The baseline of a
row is the same operator under 1,000 users who send alike.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from statistics import median

import numpy as np

from bench.grid import Grid, figures
from bench.operator_parts import PARTS, STEP, USERS, PartCost
from bench.page import Page
from bench.sip_steps import dense_model
from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Array, Integers, Mechanism
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

SYMBOLS = 10
RECORDS = 5_000
BASELINE_USERS, MANY_USERS = 1_000, 100_000
_WARM, _MEASURED = 2, 5
_SLOW_SECONDS = 10.0

SHAPES = {
    "1,000 users": (BASELINE_USERS, "alike"),
    "1 user": (1, "alike"),
    "100 users": (100, "alike"),
    "100,000 users": (MANY_USERS, "alike"),
    "1,000,000 users": (1_000_000, "alike"),
    "Zipf(1.2)": (BASELINE_USERS, "zipf"),
    "half one key": (BASELINE_USERS, "half"),
}


@dataclass(frozen=True)
class OperatorCost:
    """CPU microseconds per record of the lift, and bytes of state per user."""

    operator: str
    shape: str
    microseconds: float
    state_bytes: int


def operators() -> dict[str, Mechanism]:
    """Every mechanism that releases record by record."""
    model = dense_model(SYMBOLS)
    crr = ConditionalRandomizedResponse(model, 1.0)
    return {
        "crr": crr,
        "crr, budget": Budgeted(crr, total=1e5),
        "grr": GeneralizedRandomizedResponse(SYMBOLS, 1.0),
        "oue": OptimizedUnaryEncoding(SYMBOLS, 1.0),
        "laplace": LaplaceRelease(0, 1_000, 1.0),
        "adaptive_crr": AdaptiveRelease(model, 1.0, 1.0),
        "batched_crr": BatchedRelease(model, 4, 4.0, kernel="heuristic"),
        "cold_start_crr": ColdStart(SYMBOLS, 3.0, 200, when_short="accept"),
    }


def measure_operators(say: Callable[[str], None]) -> list[OperatorCost]:
    """One operator after the other, one shape after the other."""
    costs = []
    for name, mechanism in operators().items():
        for shape, (users, spread) in SHAPES.items():
            say(f"{name}, {shape}")
            costs.append(measure_operator(name, mechanism, shape, users, spread))
    return costs


def measure_operator(
    name: str, mechanism: Mechanism, shape: str, users: int, spread: str
) -> OperatorCost:
    """The median of some batches of one shape."""
    scope = DrawScope(Secret(bytes(32)), "bench", name, 1, mechanism.law_digest())
    lift = PerRecord(mechanism, scope, "topic-id-of-the-source", Admission("unchecked", 1, 10**9))
    table, keys = RowTable(lift.start), [b"user-%06d" % user for user in range(users)]
    table.rows_of(keys)
    rng = np.random.default_rng(7)
    times: list[float] = []
    for number in count():
        chosen = senders(spread, users, rng)
        offsets = list(range(number * RECORDS, (number + 1) * RECORDS))
        values: Array = rng.integers(SYMBOLS, size=RECORDS)
        whose = [keys[user] for user in chosen.tolist()]
        decoded = Decoded(0, offsets, offsets, whose, values, None, DeadLetters())
        began = time.process_time()
        lift(decoded, table)
        times.append(time.process_time() - began)
        if len(times) == _WARM + _MEASURED or sum(times) > _SLOW_SECONDS:
            break
    measured = times[_WARM:] or times[-1:]
    return OperatorCost(name, shape, median(measured) / RECORDS * 1e6, table.bytes_per_row)


def senders(spread: str, users: int, rng: np.random.Generator) -> Integers:
    """Return who sends each record of a batch."""
    alike = rng.integers(users, size=RECORDS)
    if spread == "zipf":
        weights = 1.0 / np.arange(1, users + 1) ** 1.2
        return rng.choice(users, size=RECORDS, p=weights / weights.sum())
    return np.where(rng.random(RECORDS) < 0.5, 0, alike) if spread == "half" else alike


# Costs of local operators as tables.


def operators_page(
    costs: list[OperatorCost], parts: list[PartCost], command: str, load_before: float
) -> Page:
    """One row per operator: microseconds, ratios to the first shape, and parts."""
    by_operator: dict[str, list[OperatorCost]] = {}
    for cost in costs:
        by_operator.setdefault(cost.operator, []).append(cost)
    header = ["operator", *SHAPES, "state"]
    absolute, relative = [], []
    for name, row in by_operator.items():
        times = [cost.microseconds for cost in row]
        absolute.append([name, *figures(2, *times), *figures(0, row[0].state_bytes)])
        relative.append([name, *figures(2, *(time / times[0] for time in times))])
    return Page(
        "operators",
        "Local operators",
        command,
        load_before,
        {
            "compiled": compiled.described(),
            "costs": [asdict(cost) for cost in costs],
            "parts": [asdict(cost) for cost in parts],
        },
        [
            Grid("Lift, CPU µs a record, median; state in bytes a user", header, absolute),
            Grid(f"Divided by {header[1]}", header[:-1], relative),
            parts_grid(parts),
        ],
        [
            f"Batches of 5,000 records of one partition, decoded before. Compiled steps: "
            f"{compiled.described()}. Zipf(1.2) and half one key: over 1,000 users.",
            f"Part by part: configured as by `bench peers`, {USERS:,} users, without Kafka.",
        ],
    )


def parts_grid(parts: list[PartCost]) -> Grid:
    """One row per operator; "whole" is all parts without Kafka."""
    rows = []
    for cost in parts:
        spent = [cost.microseconds.get(part, 0.0) for part in PARTS]
        whole = sum(spent) - cost.microseconds.get(STEP, 0.0)
        rows.append([cost.operator, *figures(2, *spent, whole)])
    return Grid("Part by part, CPU µs a record", ["operator", *PARTS, "whole"], rows)
