"""Replay what a strategy offered at each tick, to know which tests a figure has passed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fugu.dataflows.analysis.decoding import alphabet_of, is_fresh
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.estimates.random_walks import RandomWalk
from fugu.operators.estimates.surviving_figures import Surviving, surviving
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Tested:
    """Hold the figures of all ticks of a topic, `(ticks, groups)`, from its first one on."""

    strategy: Strategy
    starts: Integers
    names: list[Any]
    fresh: Array
    values: Floats
    errors: Floats

    @classmethod
    def of(cls, records: pa.Table, promise: Promise, strategy: Strategy) -> "Tested | None":
        """Return the figures in order; None where a tick lacks a group, or nothing is published."""
        names: list[Any] = list(alphabet_of(promise) or [None])
        if (other := promise.operator.get("other")) is not None and other not in names:
            names.append(other)
        starts, ticks = np.unique(records["start"].to_numpy(), return_inverse=True)
        shape = len(starts), len(names)
        if len(records) != shape[0] * shape[1] or shape[1] != strategy.bins:
            return None
        groups = np.zeros(len(records), dtype=np.int64)
        if names != [None]:
            shown = records["group"].to_pylist()
            groups = np.array([names.index(name) for name in shown], dtype=np.int64)
        values, fresh = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        errors = np.full(shape, np.nan)
        values[ticks, groups] = records["value"].to_numpy()
        errors[ticks, groups] = records["standard_error"].to_numpy()
        fresh[ticks, groups] = is_fresh(records)
        if not fresh.any():
            return None
        return cls(strategy, starts, names, fresh[:, 0], values, errors[:, 0])

    def bars(self, begins: Array, confidence: float) -> Surviving:
        """Return the errors of sums from the last beginning to each tick."""
        measured = np.flatnonzero(self.fresh)
        walks = [
            RandomWalk.through(self.values[measured, group], self.errors[measured], measured)
            for group in range(len(self.names))
        ]
        values = np.nan_to_num(self.values)
        return surviving(self.strategy, self.fresh, values, self.errors, walks, begins, confidence)

    def places(self, starts: Integers) -> Integers:
        """Return the numbers of ticks."""
        return np.asarray(np.searchsorted(self.starts, starts))
