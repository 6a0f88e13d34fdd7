"""Move values back that were displaced in time, and average them over ticks."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.mechanism import Floats, Integers


def shifted_back(records: pa.Table, promise: Promise, average: int) -> pa.Table:
    """Return steady values of each user and epoch in order, moved back by the mean delay."""
    if promise.released_as != "payload":
        raise CannotBeEstimated(
            f"shift_back: {promise.law.kind} does not displace values in time; ask for shares(), "
            "means() or series()"
        )
    if not pa.types.is_floating(records["value"].type):
        raise CannotBeEstimated(
            "shift_back: the payload is no single number; topic.records has it as it was released"
        )
    if average < 1:
        raise CannotBeEstimated(f"average: must be at least 1 tick, not {average}")
    if records["user"].null_count:
        raise CannotBeEstimated(
            "shift_back: releases have no key (sink.key: none), so nobody can tell whose they are"
        )
    steady = records.filter(pc.equal(records["phase"].cast(pa.string()), "steady"))
    lag = round(promise.estimator["mean_delay"])
    users = steady["user"].combine_chunks()
    streams = users.indices.to_numpy().astype(np.int64)
    epochs, ticks = (steady[name].to_numpy() for name in ("epoch", "tick"))
    order = np.lexsort((ticks, epochs, streams))
    streams, epochs, ticks = streams[order], epochs[order], ticks[order]
    values = np.asarray(steady["value"].to_numpy()[order], dtype=np.float64)
    begins = np.flatnonzero(
        np.concatenate([[True], (np.diff(streams) != 0) | (np.diff(epochs) != 0)])
    )
    if average > 1:
        ends = np.append(begins[1:], len(values))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            values[begin:end] = _averages(values[begin:end], ticks[begin:end], average)
    columns: dict[str, Any] = {
        "user": steady["user"].take(pa.array(order)),
        "epoch": pa.array(epochs),
        "tick": pa.array(ticks - lag),
    }
    if (width := _width(promise)) is not None:
        times = steady["time"].cast(pa.int64()).to_numpy()[order] - (lag + 1) * width
        columns["time"] = pa.array(times.astype("datetime64[ms]"), pa.timestamp("ms", tz="UTC"))
    return pa.table({**columns, "value": pa.array(values, from_pandas=True)})


def _width(promise: Promise) -> int | None:
    """Return the milliseconds of a tick; None where a tick is a record."""
    ticks = promise.section().in_ticks()
    return None if ticks is None else ticks.width


def _averages(values: Floats, ticks: Integers, width: int) -> Floats:
    """Return the means of so many ticks around each one; NaN where none of them holds a value."""
    there = ~np.isnan(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(there, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(there)])
    first = np.searchsorted(ticks, ticks - width // 2, side="left")
    end = np.searchsorted(ticks, ticks + (width - width // 2), side="left")
    number = counts[end] - counts[first]
    means = (sums[end] - sums[first]) / np.maximum(number, 1)
    return np.asarray(np.where(number > 0, means, np.nan))
