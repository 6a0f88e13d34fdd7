"""Read figures over all users: series with bars that age, and the tests that they passed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fugu.dataflows.analysis.decoding import alphabet_of, is_fresh
from fugu.dataflows.analysis.estimates import Estimates, about_intervals, level_of
from fugu.dataflows.analysis.running_totals import GO_TOGETHER, NOISE
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.estimates.random_walks import RandomWalk, Surviving, laplace_quantile, surviving
from fugu.operators.estimates.ratios_over_users import student_quantile
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


NORMAL = 1e9
_LEAST = 1e-9
_FILTERED = (
    "figures are filtered: their errors follow each other, and bars hold on average over a long "
    "run, not at each tick"
)
AGED = (
    "a repeated figure has the bar of its measurement, widened by how far measured figures move in "
    "a tick: that is an estimate, and knows nothing of a step since"
)


TESTED = (
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
    starts = integers(records[at])
    values, errors = (records[name].to_numpy() for name in ("value", "standard_error"))
    fresh = is_fresh(records)
    width = tick_width(starts)
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
    require_figures(records, promise, "series")
    parts = list(groups_of(records, "group", "start"))
    count = sum(len(part.starts) for part in parts)
    confidence = level_of(count, *level)
    factor = factor_of(promise, confidence, 1.0)
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
            margins = np.where(aged, margins_of(bars, place, factor), margins)
        columns["age"].append(part.ages)
        _add(columns, part, part.values, errors, margins)
    aged_note = AGED if tested is None else TESTED
    note = GO_TOGETHER if promise.noise == NOISE else _FILTERED if filtered else aged_note
    notes = [note, *about_intervals(count, *level)]
    table = table_of(columns, since)
    what = f"figures of {promise.pipeline} ({promise.law.kind})"
    smoothing = None if filtered else partial(_smoothed, parts, promise, since, level)
    return Series(what, table, tuple(notes), smoothing=smoothing)


def _smoothed(
    parts: Sequence[Group], promise: Promise, since: int | None, level: tuple[float, bool]
) -> Estimates:
    count = sum(len(part.starts) for part in parts)
    confidence, columns = level_of(count, *level), _columns()
    for part in parts:
        width = tick_width(part.starts)
        ticks = (part.starts - part.starts[0]) // width
        levels, uncertain = (one[ticks] for one in part.walk.smoothed(int(ticks[-1]) + 1))
        alike = np.maximum(1.0, (part.errors / np.maximum(uncertain, _LEAST)) ** 2)
        factors = np.array([factor_of(promise, confidence, one) for one in alike.tolist()])
        _add(columns, part, levels, uncertain, factors * uncertain)
    what = f"smoothed figures of {promise.pipeline} ({promise.law.kind})"
    notes = [_SMOOTHED, *about_intervals(count, *level)]
    return Estimates(what, table_of(columns, since), tuple(notes))


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


def margins_of(bars: Surviving, place: tuple[Integers, int], factor: float) -> Floats:
    """Return what bars add to both sides; tails that are too far out have those of the noise."""
    margins = bars.margins[place]
    return np.asarray(np.where(np.isnan(margins), factor * bars.errors[place], margins))


def _of_blocks(errors: Floats, confidence: float) -> Floats:
    """Return factors of running totals, which are sums of equally noisy blocks: the smallest error
    is that of one."""
    blocks = np.rint((errors / errors.min()) ** 2)
    return np.array([laplace_quantile(confidence, one) for one in blocks.tolist()])


def factor_of(promise: Promise, confidence: float, alike: float) -> float:
    """Return how many standard errors a bar has, of a sum of so many measurements."""
    if promise.noise == "laplace":
        return laplace_quantile(confidence, alike)
    return student_quantile(0.5 + confidence / 2.0, NORMAL)


def require_figures(records: pa.Table, promise: Promise, question: str) -> None:
    """Raise `CannotBeEstimated` where releases are no figures over all users."""
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


def integers(column: pa.ChunkedArray) -> Integers:
    """Return a column as an array."""
    return np.asarray(column.cast(pa.int64()).to_numpy())


def tick_width(starts: Integers) -> int:
    """Return the length of a tick: the smallest step between two."""
    steps = np.diff(np.unique(starts))
    return int(steps.min()) if len(steps) else 1


def table_of(columns: dict[str, list[Array]], since: int | None) -> pa.Table:
    """Return the rows of all groups, from a moment on."""
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
