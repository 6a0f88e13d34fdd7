"""Read figures over all users: series with bars that age, and totals of windows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis.decoding import is_fresh
from fugu.dataflows.analysis.estimates import Estimates, about_intervals, level_of
from fugu.dataflows.analysis.running_totals import GO_TOGETHER, NOISE, window_sums
from fugu.dataflows.analysis.tested import Tested
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.estimates.aged_figures import (
    laplace_quantile,
    sum_of,
)
from fugu.operators.estimates.random_walks import RandomWalk
from fugu.operators.estimates.student import student_quantile
from fugu.operators.estimates.surviving_figures import Surviving
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.wevent.strategy import Strategy

_NORMAL = 1e9
_LEAST = 1e-9
_FILTERED = (
    "figures are filtered: their errors follow each other, and bars hold on average over a long "
    "run, not at each tick"
)
_AGED = (
    "a repeated figure has the bar of its measurement, widened by how far measured figures move in "
    "a tick: that is an estimate, and knows nothing of a step since"
)


_TESTED = (
    "a repeated figure has passed noisy tests, and its bar is that of those that do: it widens by "
    "how far figures move in a tick, which is an estimate, and knows nothing of a step since"
)
_SMOOTHED = (
    "smoothed over all ticks, as a random walk would move: steps are rounded off, and what smooth "
    "figures of neighbouring ticks err by is nearly the same"
)


@dataclass(frozen=True, eq=False)
class Series(Estimates):
    """Hold the figures of every tick and group, which may be smoothed."""

    smoothing: Callable[[], Estimates] | None = None
    """Smooths them; None where figures are filtered already."""

    def smoothed(self) -> Estimates:
        """Return what measurements before and after each tick say of it together.

        The truth is taken for a random walk, whose drift is estimated from the figures.
        """
        if self.smoothing is None:
            raise CannotBeEstimated(
                "smoothed: these figures are filtered already, so their errors follow each other, "
                "and smoothing them again would make bars too short. Read series() as it is"
            )
        return self.smoothing()


@dataclass(frozen=True, eq=False)
class Group:
    """Hold the figures of one group in order: ticks from the first one, and ages in ticks."""

    name: Any
    starts: Integers
    values: Floats
    errors: Floats
    ages: Integers
    walk: RandomWalk


def groups_of(records: pa.Table, by: str, at: str) -> Iterator[Group]:
    """Yield the figures of each group; what came before any measurement is left out."""
    names = records[by].combine_chunks() if by in records.column_names else None
    codes = np.zeros(len(records), dtype=np.int64)
    distinct: Sequence[Any] = [None]
    if names is not None:
        encoded = names.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct = encoded.dictionary.to_pylist()
    starts = _integers(records[at])
    values, errors = (records[name].to_numpy() for name in ("value", "standard_error"))
    fresh = is_fresh(records)
    width = _width(starts)
    for number, name in enumerate(distinct):
        own = np.flatnonzero((codes == number) & ~np.isnan(values) & ~np.isnan(errors))
        own = own[np.argsort(starts[own], kind="stable")]
        if not len(own):
            continue
        ticks = (starts[own] - starts[own[0]]) // width
        fresh[own[0]] = True
        measured = np.flatnonzero(fresh[own])
        last = np.maximum.accumulate(np.where(fresh[own], ticks, -1))
        ages = np.where(last < 0, 0, ticks - last)
        points = own[measured]
        walk = RandomWalk.through(values[points], errors[points], ticks[measured])
        yield Group(name, starts[own], values[own], errors[own], ages, walk)


def series(
    records: pa.Table,
    promise: Promise,
    since: int | None,
    level: tuple[float, bool],
    strategy: Strategy | None,
) -> Series:
    """Return the figures of every tick and group with their bars."""
    _require_figures(records, promise, "series")
    parts = list(groups_of(records, "group", "start"))
    count = sum(len(part.starts) for part in parts)
    confidence = level_of(count, *level)
    factor = _factor(promise, confidence, 1.0)
    filtered = promise.noise in ("filtered", "running totals", NOISE)
    tested = None if strategy is None else Tested.of(records, promise, strategy)
    bars = None if tested is None else tested.bars(np.ones(len(tested.starts), bool), confidence)
    columns = _columns("age")
    for part in parts:
        errors = part.errors
        if not filtered:
            errors = part.walk.aged_errors(part.errors**2, part.ages.astype(np.float64), confidence)
        margins = factor * errors
        if promise.noise == "running totals":
            margins = errors * _of_blocks(errors, confidence)
        if tested is not None and bars is not None:
            place = tested.places(part.starts), tested.names.index(part.name)
            aged = part.ages > 0
            errors = np.where(aged, bars.errors[place], errors)
            margins = np.where(aged, _margins(bars, place, factor), margins)
        columns["age"].append(part.ages)
        _add(columns, part, part.values, errors, margins)
    aged_note = _AGED if tested is None else _TESTED
    note = GO_TOGETHER if promise.noise == NOISE else _FILTERED if filtered else aged_note
    notes = [note, *about_intervals(count, *level)]
    table = _table(columns, since)
    what = f"figures of {promise.pipeline} ({promise.law.kind})"
    smoothing = None if filtered else partial(_smoothed, parts, promise, since, level)
    return Series(what, table, tuple(notes), smoothing=smoothing)


def _smoothed(
    parts: Sequence[Group], promise: Promise, since: int | None, level: tuple[float, bool]
) -> Estimates:
    count = sum(len(part.starts) for part in parts)
    confidence, columns = level_of(count, *level), _columns()
    for part in parts:
        width = _width(part.starts)
        ticks = (part.starts - part.starts[0]) // width
        levels, uncertain = (one[ticks] for one in part.walk.smoothed(int(ticks[-1]) + 1))
        alike = np.maximum(1.0, (part.errors / np.maximum(uncertain, _LEAST)) ** 2)
        factors = np.array([_factor(promise, confidence, one) for one in alike.tolist()])
        _add(columns, part, levels, uncertain, factors * uncertain)
    what = f"smoothed figures of {promise.pipeline} ({promise.law.kind})"
    notes = [_SMOOTHED, *about_intervals(count, *level)]
    return Estimates(what, _table(columns, since), tuple(notes))


def _columns(*more: str) -> dict[str, list[Any]]:
    names = ("start", "group", *more, "estimate", "low", "high", "standard_error")
    return {name: [] for name in names}


def _add(
    columns: dict[str, list[Any]], part: Group, values: Floats, errors: Floats, margins: Floats
) -> None:
    columns["start"].append(part.starts)
    columns["group"].append(np.full(len(part.starts), part.name, dtype=object))
    columns["estimate"].append(values)
    columns["low"].append(values - margins)
    columns["high"].append(values + margins)
    columns["standard_error"].append(errors)


def totals(
    records: pa.Table,
    promise: Promise,
    since: int | None,
    window: int,
    asked: tuple[float, bool],
    strategy: Strategy | None,
) -> Estimates:
    """Return the sums of figures of `window` ticks in a row."""
    _require_figures(records, promise, "totals")
    if window < 1:
        raise CannotBeEstimated(f"window: must be at least 1 tick, not {window}")
    if promise.noise == NOISE:
        return _sums_of_windows(records, promise, since, window, asked)
    if promise.noise == "running totals":
        raise CannotBeEstimated(
            f"totals: {promise.law.kind} releases running totals already: subtract the one at the "
            "beginning of a window from the one at its end; their errors are in series()"
        )
    filtered = promise.noise == "filtered"
    parts = list(groups_of(records, "group", "start"))
    whole = [(part, list(_windows(part, window))) for part in parts]
    confidence = level_of(sum(len(its) for _, its in whole), *asked)
    tested = None if strategy is None else Tested.of(records, promise, strategy)
    bars = None if tested is None else tested.bars(_begins(tested.starts, window), confidence)
    rows: list[tuple[int, Any, float, float, float]] = []
    for part, its in whole:
        totalled = [float(part.values[begin:end].sum()) for begin, end in its]
        if tested is not None and bars is not None:
            place = tested.places(_starts(part, its, last=True)), tested.names.index(part.name)
            errors, margin = (
                bars.errors[place],
                _margins(bars, place, _factor(promise, confidence, 1.0)),
            )
        elif filtered:
            errors = np.array([part.errors[begin:end].sum() for begin, end in its])
            margin = _factor(promise, confidence, _NORMAL) * errors
        else:
            sums = [sum_of(part.errors[begin:end], part.ages[begin:end]) for begin, end in its]
            noise, moved, alike = np.array(sums).reshape(-1, 3).T
            errors = part.walk.aged_errors(noise, moved, confidence)
            margin = errors * [_factor(promise, confidence, one) for one in alike.tolist()]
        begun = _starts(part, its, last=False).tolist()
        names = [part.name] * len(its)
        rows += zip(begun, names, totalled, errors.tolist(), margin.tolist(), strict=True)
    margins = np.array([margin for *_, margin in rows])
    estimates = np.array([total for _, _, total, _, _ in rows])
    columns: dict[str, list[Any]] = {
        "start": [np.array([start for start, *_ in rows], dtype=np.int64)],
        "group": [np.array([name for _, name, *_ in rows], dtype=object)],
        "estimate": [estimates],
        "low": [estimates - margins],
        "high": [estimates + margins],
        "standard_error": [np.array([error for *_, error, _ in rows])],
    }
    aged_note = _AGED if tested is None else _TESTED
    at_most = "bars are for errors that all go the same way, which is the most they can be"
    notes = [at_most if filtered else aged_note, "windows that lack a tick are left out"]
    notes += about_intervals(len(rows), *asked)
    what = f"totals of {window} ticks, {promise.pipeline} ({promise.law.kind})"
    return Estimates(what, _table(columns, since), tuple(notes))


def _sums_of_windows(
    records: pa.Table,
    promise: Promise,
    since: int | None,
    window: int,
    level: tuple[float, bool],
) -> Estimates:
    """Return differences of running totals whose errors are known to go together."""
    known = records.filter(pc.is_valid(records["standard_error"]))
    starts = _integers(known["start"])
    rows = list(window_sums(known, promise, window, _width(starts))) if len(known) else []
    factor = _factor(promise, level_of(len(rows), *level), _NORMAL)
    estimates, errors = (np.array([row[place] for row in rows], dtype=float) for place in (2, 3))
    columns: dict[str, list[Any]] = {
        "start": [np.array([row[0] for row in rows], dtype=np.int64)],
        "group": [np.array([row[1] for row in rows], dtype=object)],
        "estimate": [estimates],
        "low": [estimates - factor * errors],
        "high": [estimates + factor * errors],
        "standard_error": [errors],
    }
    notes = [GO_TOGETHER, "windows that lack a tick are left out"]
    notes += about_intervals(len(rows), *level)
    what = f"sums of {window} ticks, {promise.pipeline} ({promise.law.kind})"
    return Estimates(what, _table(columns, since), tuple(notes))


def _begins(starts: Integers, window: int) -> Array:
    """Return which ticks begin a window; windows count ticks from 1970 on."""
    number = (starts // _width(starts)) // window
    return np.concatenate([[True], number[1:] != number[:-1]])


def _windows(part: Group, window: int) -> Iterator[tuple[int, int]]:
    """Yield first and end of each window of which no tick is missing."""
    begins = np.flatnonzero(_begins(part.starts, window))
    ends = np.append(begins[1:], len(part.starts))
    yield from ((int(b), int(e)) for b, e in zip(begins, ends, strict=True) if e - b == window)


def _starts(part: Group, windows: Sequence[tuple[int, int]], *, last: bool) -> Integers:
    """Return when the first, or the last, tick of each window begins."""
    return part.starts[[end - 1 if last else begin for begin, end in windows]]


def _margins(bars: Surviving, place: tuple[Integers, int], factor: float) -> Floats:
    """Return what bars add to both sides; tails that are too far out have those of the noise."""
    margins = bars.margins[place]
    return np.asarray(np.where(np.isnan(margins), factor * bars.errors[place], margins))


def _of_blocks(errors: Floats, confidence: float) -> Floats:
    """Return factors of running totals, which are sums of equally noisy blocks: the smallest error
    is that of one."""
    blocks = np.rint((errors / errors.min()) ** 2)
    return np.array([laplace_quantile(confidence, one) for one in blocks.tolist()])


def _factor(promise: Promise, confidence: float, alike: float) -> float:
    if promise.noise == "laplace":
        return laplace_quantile(confidence, alike)
    return student_quantile(0.5 + confidence / 2.0, _NORMAL)


def _require_figures(records: pa.Table, promise: Promise, question: str) -> None:
    if promise.released_as == "figures":
        return
    if promise.released_as == "payload":
        raise CannotBeEstimated(
            f"{question}: {promise.law.kind} hides when a value came, so no figure belongs to a "
            "tick. means() tells what values are like; docs/analysts.md says what running counts "
            "and averages over many ticks tell"
        )
    raise CannotBeEstimated(
        f"{question}: {promise.law.kind} releases something for each user; ask for shares() or "
        "means(), with by= for a series of them"
    )


def _integers(column: pa.ChunkedArray) -> Integers:
    return np.asarray(column.cast(pa.int64()).to_numpy())


def _width(starts: Integers) -> int:
    """Return the length of a tick: the smallest step between two."""
    steps = np.diff(np.unique(starts))
    return int(steps.min()) if len(steps) else 1


def _table(columns: dict[str, list[Array]], since: int | None) -> pa.Table:
    whole: dict[str, Any] = {
        name: np.concatenate(parts) if parts else [] for name, parts in columns.items()
    }
    starts = np.asarray(whole["start"], dtype=np.int64)
    table: dict[str, Any] = {name: pa.array(column) for name, column in whole.items()}
    table["start"] = pa.array(starts.astype("datetime64[ms]"), pa.timestamp("ms", tz="UTC"))
    if all(name is None for name in whole["group"]):
        del table["group"]
    made = pa.table(table)
    return made if since is None else made.filter(pa.array(starts >= since))
