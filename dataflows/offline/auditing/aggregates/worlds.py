"""Run an aggregate many times on one input, and write down all that readers see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.dataflows.offline.auditing.aggregates.population import Said
from fugu.dataflows.offline.auditing.aggregates.subject import Aggregate, Released
from fugu.dataflows.offline.auditing.audited import ROOT, Advance
from fugu.operators.mechanism import Array, Floats, Integers, Kind, Releases

_RUNS_AT_ONCE = 2_500
Truths = Mapping[int, Integers]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold an input, and others that it is compared with.

    Those in `unattacked` are compared without noise alone. Each of `STATISTICS` adds a column
    for each of the others: it tells no more than the releases that it is computed from, but finds
    in one number what they say together.
    """

    subject: Aggregate
    base: Said
    others: Mapping[str, Said]
    unattacked: tuple[Said, ...] = ()

    @cached_property
    def truths(self) -> Mapping[Said, Truths]:
        """Return the exact figures of every input."""
        inputs = (self.base, *self.others.values(), *self.unattacked)
        return {said: self.subject.truths(said) for said in inputs}

    @cached_property
    def ticks(self) -> list[int]:
        """Return the ticks that some input releases."""
        return sorted(set().union(*self.truths.values()))

    def columns(self, released: Released) -> Floats:
        """Return what readers see of every run, `(runs, columns)`; NaN where nothing is shown."""
        shape = next(iter(released.values()))
        parts = [
            part
            for tick in self.ticks
            for part in (_columns(released[tick]) if tick in released else [_missing(shape)])
        ]
        base = self.truths[self.base]
        parts += [
            statistic(released, base, self.truths[other])[:, None]
            for other in self.others.values()
            for statistic in STATISTICS
        ]
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class FiguresWorld:
    """Run the whole pipeline on one input."""

    comparison: Comparison
    said: Said

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return all that readers of the sanitized topic see, shape (runs, columns)."""
        subject, secret = self.comparison.subject, ROOT.derive(*seed)
        log, found = subject.log(self.said), []
        for start in range(0, runs, _RUNS_AT_ONCE):
            rows = min(_RUNS_AT_ONCE, runs - start)
            streams = [b"%d" % run for run in range(start, start + rows)]
            released = subject.released(log, secret, streams, restarts=True)
            found.append(self.comparison.columns(released))
            advance(rows)
        return np.concatenate(found)


def _columns(releases: Releases) -> list[Floats]:
    rows = len(releases.values)
    values = releases.values.astype(np.float64)
    notes = [_numbers(note).reshape(rows, -1) for note in releases.annotations.values()]
    kinds = np.zeros(rows) if releases.kinds is None else releases.kinds
    values[kinds == Kind.SUPPRESSED] = np.nan
    return [values, kinds[:, None].astype(np.float64), *(n.astype(np.float64) for n in notes)]


def _numbers(note: Array) -> Array:
    """Return an annotation, and a text as the numbers of its characters."""
    return note.view(np.uint32) if note.dtype.kind == "U" else note


def _missing(shape: Releases) -> Floats:
    return np.full((len(shape.values), sum(part.shape[1] for part in _columns(shape))), np.nan)


def likelihood_ratio(released: Released, one: Truths, other: Truths) -> Floats:
    """Return ln P(fresh figures given one) / P(given other), by the standard errors they show."""
    rows = len(next(iter(released.values())).values)
    total = np.zeros(rows)
    for tick in released.keys() & one.keys() & other.keys():
        releases = released[tick]
        scale = releases.annotations["standard_error"].reshape(rows, -1) / np.sqrt(2.0)
        nearer = np.abs(releases.values - other[tick]) - np.abs(releases.values - one[tick])
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(scale > 0.0, nearer / scale, 0.0).sum(axis=1)
        fresh = np.ones(rows, bool) if releases.kinds is None else releases.kinds == Kind.FRESH
        total += np.where(fresh, np.nan_to_num(told), 0.0)
    return total


def projection(released: Released, one: Truths, other: Truths) -> Floats:
    """Return the sum of released figures, weighted by how `one` differs from `other`."""
    total = np.zeros(len(next(iter(released.values())).values))
    for tick in released.keys() & one.keys() & other.keys():
        total += released[tick].values @ (one[tick] - other[tick]).astype(np.float64)
    return total


STATISTICS: tuple[Callable[[Released, Truths, Truths], Floats], ...] = (
    likelihood_ratio,
    projection,
)
"""Compute from releases alone, given what either input counts, which of them it looks like."""
