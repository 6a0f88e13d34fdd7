"""Compute sums of windows from running totals, with bars that know how their errors correlate."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from fugu.dataflows.publishing.promise import Promise
from fugu.operators.mechanism import Array, Integers
from fugu.operators.totals.buffers import Buffers, TotalErrors

NOISE = "factorised totals"
"""Names the law of such errors."""
COLUMNS = {"block": pa.int64(), "position": pa.int64()}
"""Columns of releases that say which tick of which period a total was told at."""
GO_TOGETHER = (
    "errors of totals go together, so the sum of a window, which is the difference of two totals, "
    "errs less than they do; its bar is exact"
)

WindowSum = tuple[int, Any, float, float]
"""Start, group, sum and standard error."""


def errors_of(promise: Promise) -> TotalErrors:
    """Return what the law says about errors of totals."""
    numbers = promise.estimator
    places = range(sum(name.startswith("weight_") for name in numbers))
    weights, factors = (
        tuple(int(numbers[f"{name}_{place}"]) for place in places) for name in ("weight", "factor")
    )
    return TotalErrors(Buffers(weights, factors), int(numbers["ticks"]), numbers["noise"])


@dataclass(frozen=True, eq=False)
class Totals:
    """Hold the totals of one group in order, the tick of each, and its place in its period."""

    ticks: Integers
    values: Array
    stated: Array
    blocks: Integers
    positions: Integers
    errors: TotalErrors

    @property
    def begins(self) -> bool:
        """Return whether nothing was added up before the first of them."""
        own = self.errors.variances[self.positions[0]]
        return bool(self.positions[0] == 1 and self.stated[0] ** 2 <= own * (1.0 + 1e-3))

    def sum_after(self, first: int | None, last: int) -> tuple[float, float]:
        """Return the sum of what came after the total at place `first`, or of all, and its bar."""
        if first is None:
            return float(self.values[last]), float(self.stated[last])
        value = float(self.values[last] - self.values[first])
        own, positions = self.errors.variances, self.positions
        if self.blocks[first] == self.blocks[last]:
            return value, sqrt(
                self.errors.of_difference(int(positions[first]), int(positions[last]))
            )
        end = int(positions[self.blocks == self.blocks[first]].max())
        before = self.stated[first] ** 2 - own[positions[first]] + own[end]
        between = self.stated[last] ** 2 - own[positions[last]] - before
        rest = self.errors.of_difference(int(positions[first]), end)
        return value, sqrt(max(0.0, float(between)) + rest + float(own[positions[last]]))


def window_sums(
    records: pa.Table, promise: Promise, window: int, width: int
) -> Iterator[WindowSum]:
    """Yield the sums of aligned windows of so many ticks, of which no tick is missing."""
    errors = errors_of(promise)
    names = (
        records["group"].to_pylist() if "group" in records.column_names else [None] * len(records)
    )
    starts, blocks, positions = (
        np.asarray(records[name].to_numpy()) for name in ("start", "block", "position")
    )
    values, stated = (records[name].to_numpy() for name in ("value", "standard_error"))
    for name in dict.fromkeys(names):
        own = np.flatnonzero([one == name for one in names])
        own = own[np.argsort(starts[own], kind="stable")]
        part = Totals(
            starts[own] // width, values[own], stated[own], blocks[own], positions[own], errors
        )
        for first, last in _windows(part, window):
            total, error = part.sum_after(first, last)
            yield int(starts[own[last]]) - (window - 1) * width, name, total, error


def _windows(part: Totals, window: int) -> Iterator[tuple[int | None, int]]:
    """Yield the places of the totals before a window, if there are any, and at its end."""
    places = {int(tick): place for place, tick in enumerate(part.ticks)}
    for end in range(int(part.ticks[0]) // window, int(part.ticks[-1]) // window + 1):
        last = (end + 1) * window - 1
        ticks = range(last - window + 1, last + 1)
        if any(tick not in places for tick in ticks):
            continue
        before = places.get(ticks[0] - 1)
        if before is not None or (places[ticks[0]] == 0 and part.begins):
            yield before, places[last]
