"""Estimate shares and means over users, in windows of time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis.decoding import alphabet_of, is_fresh, releases_of
from fugu.dataflows.analysis.estimates import Estimates, about_intervals, about_model, level_of
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.budget import without_budget
from fugu.operators.estimates.model_check import ModelCheck, SurpriseSums
from fugu.operators.estimates.ratios_over_users import Ratios, RatioSums
from fugu.operators.estimates.shares import PredictingReader, checked_reader
from fugu.operators.estimates.stream_reports import Told, told_by_streams
from fugu.operators.mechanism import (
    Integers,
    Mechanism,
    RepeatingMechanism,
    TimedMechanism,
)
from fugu.operators.sip.batches.batched_release import BatchedRelease


def in_order(records: pa.Table, users: Integers) -> tuple[pa.Table, Integers, int]:
    """Return records with the users of each, ordered within users, and how many users were left
    out, because the order of their releases is not known.

    A partition holds them in order. A user who moved to another partition (`source.partitions:
    follow`, `fugu state repartition`) has releases in several, and what is in one was made before
    what is in the next. Where times in two partitions overlap, as after `fugu redrive`, nothing
    public says which release came first.
    """
    partitions = records["partition"].to_numpy()
    present = np.zeros((int(partitions.max(initial=0)) + 1, int(users.max(initial=0)) + 1), bool)
    present[partitions, users] = True
    moved = present.sum(axis=0) > 1
    if not moved.any():
        return records, users, 0
    own = np.flatnonzero(moved[users])
    times = pc.cast(records["time"], pa.int64()).to_numpy()[own]
    stays = users[own].astype(np.int64) * len(present) + partitions[own]
    distinct, stay = np.unique(stays, return_inverse=True)
    first = np.full(len(distinct), np.iinfo(np.int64).max)
    last = np.full(len(distinct), np.iinfo(np.int64).min)
    np.minimum.at(first, stay, times)
    np.maximum.at(last, stay, times)
    whose = distinct // len(present)
    by_time = np.lexsort((first, whose))
    next_of_same = whose[by_time][1:] == whose[by_time][:-1]
    overlaps = next_of_same & (first[by_time][1:] <= last[by_time][:-1])
    unknown = np.unique(whose[by_time][1:][overlaps])
    begins = np.zeros(len(users), dtype=np.int64)
    begins[own] = first[stay]
    order = np.argsort(begins, kind="stable")
    order = order[~np.isin(users[order], unknown)]
    return records.take(pa.array(order)), users[order], len(unknown)


_NO_KEY = (
    "releases have no key, so every record counts as a user of its own: bars are too short where "
    "users have several records"
)


class Windows:
    """Number the window of time of each record; -1 for those that are not estimated."""

    def __init__(self, records: pa.Table, width: int | None, since: int | None) -> None:
        self.width = width
        if width is None and since is None:
            self.starts = np.zeros(min(1, len(records)), dtype=np.int64)
            self.of = np.zeros(len(records), dtype=np.int32)
            return
        times = milliseconds(records["time"])
        kept = np.ones(len(times), dtype=bool) if since is None else times >= since
        number = np.zeros(len(times), dtype=np.int64) if width is None else times // width
        self.starts, places = np.unique(number[kept], return_inverse=True)
        self.of = np.full(len(times), -1, dtype=np.int32)
        self.of[kept] = places

    @property
    def count(self) -> int:
        """Return how many windows there are."""
        return len(self.starts)

    def columns(self, repeated: int) -> dict[str, pa.Array]:
        """Return the start of the window of each row, of which a window has so many."""
        assert self.width is not None
        starts = np.repeat(self.starts * self.width, repeated).astype("datetime64[ms]")
        return {"start": pa.array(starts, pa.timestamp("ms", tz="UTC"))}


def milliseconds(times: pa.ChunkedArray) -> Integers:
    """Return times as milliseconds since 1970."""
    return np.asarray(times.cast(pa.int64()).to_numpy())


def numbered_users(records: pa.Table) -> tuple[Integers, Sequence[str]]:
    """Return the number of each record's user, and what is to be said of it."""
    users = records["user"]
    if users.null_count:
        return np.arange(len(users), dtype=np.int64), (_NO_KEY,)
    codes = [chunk.indices for chunk in users.unify_dictionaries().chunks]
    return pa.chunked_array(codes, pa.int32()).to_numpy(), ()


def estimated_shares(
    records: pa.Table,
    promise: Promise,
    mechanism: Mechanism,
    asked: tuple[int | None, int | None],
    confidence: float,
    simultaneous: bool,
) -> Estimates:
    """Estimate the share of every symbol; the law of the releases chooses the correction.

    `asked` are the width of windows and the time from which on records are estimated.
    """
    inner = without_budget(mechanism)
    if isinstance(inner, BatchedRelease) and inner.gaps is not None:
        raise CannotBeEstimated(
            "shares: what a list tells depends on the gaps between its records (operator.step), "
            "and a topic has the time of its last record only; take shares from a pipeline of crr, "
            "or leave operator.step out"
        )
    alphabet, reader = alphabet_of(promise), checked_reader(mechanism)
    if alphabet is None or reader is None:
        raise CannotBeEstimated(
            f"shares: {promise.law.kind} releases no symbols of users; ask for means(), series() "
            "or totals()"
        )
    users, notes = numbered_users(records)
    if reader.start(1) and notes:
        raise CannotBeEstimated(
            f"shares: the law of {promise.law.kind} depends on all releases of a user, and these "
            "have no key (sink.key: none), so nobody can tell which belong together"
        )
    if reader.start(1):
        records, users, unknown = in_order(records, users)
        notes = [*notes, *_about_unknown(unknown)]
    windows = Windows(records, *asked)
    releases = releases_of(records, promise)
    ticks = _ticks(records, mechanism)
    sums = RatioSums(max(1, windows.count), len(alphabet), shares=True)
    outcomes = releases.values
    surprises: SurpriseSums | None = None
    if isinstance(reader, PredictingReader):
        surprises = SurpriseSums(reader.outcomes)
        if isinstance(inner, RepeatingMechanism):
            outcomes = inner.outcome_of(releases)
    silent = 0
    for told in told_by_streams(reader, users, releases, ticks):
        silent += int((told.records == 0).sum())
        _add(sums, told, users, windows)
        if surprises is not None:
            its, released = users[told.places], outcomes[told.places]
            surprises.add(its, released, told.surprises, told.variances)
    check = None if surprises is None else surprises.check()
    notes = [
        *notes,
        *_about_silence(silent, len(records)),
        *about_model(check, alphabet, promise, mechanism, users),
    ]
    labels = {"symbol": pa.array(alphabet * max(1, windows.count))}
    return _table(
        f"shares of {promise.fields[0]}, {promise.pipeline} ({promise.law.kind})",
        sums.ratios(),
        windows,
        labels,
        (confidence, simultaneous),
        notes,
        check,
    )


def estimated_means(
    records: pa.Table,
    promise: Promise,
    asked: tuple[int | None, int | None],
    confidence: float,
    simultaneous: bool,
) -> Estimates:
    """Estimate the mean of what fresh releases show."""
    windows = Windows(records, *asked)
    users, notes = numbered_users(records)
    fresh = is_fresh(records)
    if "phase" in records.column_names:
        fresh &= np.asarray(pc.equal(records["phase"].cast(pa.string()), "steady").to_numpy())
    values = pc.cast(records["value"], pa.float64()).to_numpy()
    fresh &= ~np.isnan(values)
    places = np.flatnonzero(fresh)
    nothing = np.zeros((0, 0))
    one = np.ones(len(places), dtype=np.int64)
    noise = np.full((len(places), 1), promise.estimator.get("standard_deviation", 0.0) ** 2)
    told = Told(places, values[places][:, None], one, noise, nothing, nothing)
    sums = RatioSums(max(1, windows.count), 1)
    _add(sums, told, users, windows)
    left_out = len(values) - len(places)
    if left_out:
        notes = [*notes, f"{left_out:,} records that say nothing new are left out"]
    return _table(
        f"mean of {promise.fields[0]}, {promise.pipeline} ({promise.law.kind})",
        sums.ratios(),
        windows,
        {},
        (confidence, simultaneous),
        [*notes, *_about_means(promise)],
        None,
    )


def _add(sums: RatioSums, told: Told, users: Integers, windows: Windows) -> None:
    """Add what releases tell, as one row for each user and window."""
    window = windows.of[told.places]
    kept = (window >= 0) & (told.records > 0)
    cells = users[told.places][kept].astype(np.int64) * max(1, windows.count) + window[kept]
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    if not len(cells):
        return
    begins = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    reports = np.add.reduceat(told.reports[kept][order], begins)
    noise = np.add.reduceat(told.noise[kept][order], begins)
    counts = np.add.reduceat(told.records[kept][order], begins).astype(np.float64)
    sums.add(cells[begins] % max(1, windows.count), reports, counts, noise)


def _ticks(records: pa.Table, mechanism: Mechanism) -> Integers | None:
    inner = without_budget(mechanism)
    if not isinstance(inner, TimedMechanism) or inner.tick_milliseconds is None:
        return None
    return np.asarray(milliseconds(records["time"]) // inner.tick_milliseconds)


def _table(
    what: str,
    ratios: Ratios,
    windows: Windows,
    labels: dict[str, pa.Array],
    level: tuple[float, bool],
    notes: Sequence[str],
    check: ModelCheck | None,
) -> Estimates:
    confidence, simultaneous = level
    count, columns = ratios.estimates.size, ratios.estimates.shape[1]
    intervals = ratios.intervals(level_of(count, confidence, simultaneous))
    flat: dict[str, Any] = {
        "estimate": ratios.estimates.ravel(),
        "low": intervals[..., 0].ravel(),
        "high": intervals[..., 1].ravel(),
        "standard_error": ratios.standard_errors.ravel(),
        "users": np.repeat(ratios.users, columns),
        "records": np.repeat(ratios.records.astype(np.int64), columns),
    }
    if labels:
        flat["effective"] = np.round(ratios.effective_samples().ravel())
    made = labels | {name: pa.array(column) for name, column in flat.items()}
    if windows.width is not None:
        rows = windows.count * columns
        starts = windows.columns(columns)
        made = starts | {name: column.slice(0, rows) for name, column in made.items()}
    notes = [*notes, *about_intervals(count, confidence, simultaneous)]
    return Estimates(what, pa.table(made), tuple(notes), check)


def _about_silence(silent: int, records: int) -> Sequence[str]:
    if not silent:
        return ()
    return (
        f"{silent:,} of {records:,} records say nothing new, because streams could not pay for "
        "more: the shares are those of the other records, which are no fair sample where what a "
        "release costs depends on the model",
    )


def _about_unknown(users: int) -> Sequence[str]:
    if not users:
        return ()
    return (
        f"{users:,} users are left out: they have releases in several partitions at overlapping "
        "times (driven again, or unchecked partitions), and the law depends on their order, which "
        "nothing public says",
    )


def _about_means(promise: Promise) -> Sequence[str]:
    if promise.released_as == "payload":
        return ("values are true ones; when they came is what is hidden",)
    return (
        "numbers were clamped to the declared range before noise was added: what lay outside "
        "biases the mean, and nothing shows it",
    )
