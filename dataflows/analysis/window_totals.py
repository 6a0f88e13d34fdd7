"""Sum figures over windows of ticks, with bars that know what one measurement repeats."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis.estimates import Estimates, about_intervals, level_of
from fugu.dataflows.analysis.figures import (
    AGED,
    NORMAL,
    TESTED,
    Group,
    Tested,
    factor_of,
    groups_of,
    integers,
    margins_of,
    require_figures,
    table_of,
    tick_width,
)
from fugu.dataflows.analysis.running_totals import GO_TOGETHER, NOISE, window_sums
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.estimates.random_walks import sum_of
from fugu.operators.mechanism import Array, Integers
from fugu.operators.wevent.strategy import Strategy


def totals(
    records: pa.Table,
    promise: Promise,
    since: int | None,
    window: int,
    asked: tuple[float, bool],
    strategy: Strategy | None,
) -> Estimates:
    """Return the sums of figures of `window` ticks in a row."""
    require_figures(records, promise, "totals")
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
            errors = bars.errors[place]
            margin = margins_of(bars, place, factor_of(promise, confidence, 1.0))
        elif filtered:
            errors = np.array([part.errors[begin:end].sum() for begin, end in its])
            margin = factor_of(promise, confidence, NORMAL) * errors
        else:
            sums = [sum_of(part.errors[begin:end], part.ages[begin:end]) for begin, end in its]
            noise, moved, alike = np.array(sums).reshape(-1, 3).T
            errors = part.walk.aged_errors(noise, moved, confidence)
            margin = errors * [factor_of(promise, confidence, one) for one in alike.tolist()]
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
    aged_note = AGED if tested is None else TESTED
    at_most = "bars are for errors that all go the same way, which is the most they can be"
    notes = [at_most if filtered else aged_note, "windows that lack a tick are left out"]
    notes += about_intervals(len(rows), *asked)
    what = f"totals of {window} ticks, {promise.pipeline} ({promise.law.kind})"
    return Estimates(what, table_of(columns, since), tuple(notes))


def _sums_of_windows(
    records: pa.Table,
    promise: Promise,
    since: int | None,
    window: int,
    level: tuple[float, bool],
) -> Estimates:
    """Return differences of running totals whose errors are known to go together."""
    known = records.filter(pc.is_valid(records["standard_error"]))
    starts = integers(known["start"])
    rows = list(window_sums(known, promise, window, tick_width(starts))) if len(known) else []
    factor = factor_of(promise, level_of(len(rows), *level), NORMAL)
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
    return Estimates(what, table_of(columns, since), tuple(notes))


def _begins(starts: Integers, window: int) -> Array:
    """Return which ticks begin a window; windows count ticks from 1970 on."""
    number = (starts // tick_width(starts)) // window
    return np.concatenate([[True], number[1:] != number[:-1]])


def _windows(part: Group, window: int) -> Iterator[tuple[int, int]]:
    """Yield first and end of each window of which no tick is missing."""
    begins = np.flatnonzero(_begins(part.starts, window))
    ends = np.append(begins[1:], len(part.starts))
    yield from ((int(b), int(e)) for b, e in zip(begins, ends, strict=True) if e - b == window)


def _starts(part: Group, windows: Sequence[tuple[int, int]], *, last: bool) -> Integers:
    """Return when the first, or the last, tick of each window begins."""
    return part.starts[[end - 1 if last else begin for begin, end in windows]]
