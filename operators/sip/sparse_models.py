"""Describe Markov chains over large alphabets by the few transitions that are likely."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.markov_model import (
    ROUNDED_SUM,
    SMALLEST_ENTRY,
    FirstOrder,
    MarkovModel,
    check_distribution,
    check_entries,
    check_smoothing,
    excess,
    normalised,
    ordered_sum,
)

_ENTRIES_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Hold sparse rows of transition probabilities, smoothed without becoming dense.

    Row r gives symbol v the probability `kept(r, v) + restart(r) / n`. With probability `restart`
    the next symbol is any of the n, all alike: C' = diag(w) C + (1 - w) u^T with u uniform, w = 1 -
    restart and `kept` = w C, which is stored as CSR arrays (`starts`, `columns`, `kept`).

    All arrays are copied. Raises `ValueError` naming the row that is not a distribution.

    >>> rows = SparseRows.smoothed([({1: 1.0}, 0.0), ({0: 0.5, 1: 0.25}, 0.25)], 2, smoothing=0.1)
    >>> rows.dense().round(4).tolist()
    [[0.05, 0.95], [0.6125, 0.3875]]

    Source: SIP specification, sections 4 (sparse chains) and 5 (smoothing). Arithmetic:
    `np.bincount` adds entries one after the other in their order, so a sum does not depend on what
    else is computed.
    """

    symbols: int
    starts: Integers
    columns: Integers
    kept: Floats
    restart: Floats

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            column = np.array(getattr(self, name), dtype=dtype)
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        self._check()

    @classmethod
    def smoothed(
        cls, rows: Iterable[tuple[Mapping[int, float], float]], symbols: int, smoothing: float
    ) -> "SparseRows":
        """Mix rows of (probabilities, what is spread over all symbols) with the uniform one.

        Each row sums to 1 together with what it spreads; `smoothing` of all of it is spread, too.
        """
        check_smoothing(smoothing)
        starts, columns, kept, restart = [0], [], [], []
        for number, (entries, spread) in enumerate(rows):
            chosen = sorted(entries)
            values = [entries[column] for column in chosen]
            if not 0.0 <= spread <= 1.0:
                raise ValueError(f"transition row {number}: what is spread must be in 0..1")
            check_entries(f"transition row {number}", [*values, spread], chosen)
            share = (1.0 - smoothing) / fsum([*values, spread])
            positive = [(column, value) for column, value in zip(chosen, values, strict=True)]
            columns += [column for column, value in positive if value > 0.0]
            kept += [share * value for _, value in positive if value > 0.0]
            restart.append(smoothing + share * spread)
            starts.append(len(columns))
        return cls(symbols, *map(np.array, (starts, columns, kept, restart)))

    def __len__(self) -> int:
        return len(self.restart)

    @cached_property
    def sources(self) -> Integers:
        """Return the row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def probabilities(self) -> Floats:
        """Return the probability of each entry, with what restarting adds to it."""
        return np.asarray(self.kept + self.restart[self.sources] / self.symbols)

    @cached_property
    def excess(self) -> float:
        """Return the most by which a row, with what it spreads, misses the sum 1."""
        parts = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return max(
            excess(np.append(self.kept[start:end], spread))
            for (start, end), spread in zip(parts, self.restart.tolist(), strict=True)
        )

    def flow(self, masses: Floats, targets: Integers, states: int) -> Floats:
        """Move `masses (rows of this, columns)`: entry e leads to `targets[e]`, out of `states`
        states, of which the first n are what a restart leads to."""
        arrived = gathered(masses, self.sources, self.kept, targets, states)
        arrived[: self.symbols] += ordered_sum(masses * self.restart[:, None]) / self.symbols
        return arrived

    def mean(self, values: Floats, targets: Integers) -> Floats:
        """Return the mean of `values (states, columns)` after each row: the same moves backwards,
        entry e from `targets[e]`."""
        kept = gathered(values, targets, self.kept, self.sources, len(self))
        anew = ordered_sum(values[: self.symbols]) / self.symbols
        return np.asarray(kept + self.restart[:, None] * anew)

    def column_range(self) -> tuple[Floats, Floats]:
        """Return the largest probability of each symbol over all rows, or more; the
        smallest, or less.

        A row that does not list a symbol restarts.
        """
        spread = self.restart / self.symbols
        largest = np.full(self.symbols, spread.max())
        smallest = np.full(self.symbols, np.inf)
        np.maximum.at(largest, self.columns, self.probabilities)
        np.minimum.at(smallest, self.columns, self.probabilities)
        return largest, np.minimum(smallest, spread[spread > 0.0].min(initial=np.inf))

    def dense(self) -> Floats:
        """Return the rows as a matrix."""
        matrix = np.tile(self.restart[:, None] / self.symbols, (1, self.symbols))
        matrix[self.sources, self.columns] += self.kept
        return matrix

    def identity(self) -> tuple[bytes, ...]:
        """Return every number, for digests."""
        return tuple(
            getattr(self, name).astype(dtype.replace("=", "<")).tobytes()
            for name, dtype in _DTYPES.items()
        )

    def _check(self) -> None:
        n, rows, entries = self.symbols, len(self), len(self.columns)
        if (
            len(self.starts) != rows + 1
            or (self.starts[0], self.starts[-1], len(self.kept)) != (0, entries, entries)
            or (np.diff(self.starts) < 0).any()
        ):
            raise ValueError("starts, columns, kept and restart: do not describe rows together")
        again = (np.diff(self.columns) <= 0) & (np.diff(self.sources) == 0)
        again = np.concatenate([[False], again])[:entries]
        self._refuse((self.columns < 0) | (self.columns >= n), f"columns are 0..{n - 1}")
        self._refuse(again, "columns must ascend, each of them once")
        self._refuse(~(np.isfinite(self.kept) & (self.kept > 0.0)), "must be a positive number")
        tiny = self.probabilities < SMALLEST_ENTRY
        self._refuse(tiny, f"is below {SMALLEST_ENTRY:g}; set smoothing above 0")
        certain = ~((self.restart >= 0.0) & (self.restart <= 1.0))
        sums = np.bincount(self.sources, self.kept, minlength=rows) + self.restart
        certain |= np.abs(sums - 1.0) > ROUNDED_SUM
        if certain.any():
            row = int(np.argmax(certain))
            raise ValueError(f"transition row {row}: must sum to 1; SparseRows.smoothed normalises")
        restarts = self.restart / n >= SMALLEST_ENTRY
        for row in np.flatnonzero(~restarts & (np.diff(self.starts) < n)).tolist():
            there = self.columns[self.starts[row] : self.starts[row + 1]]
            column = np.setdiff1d(np.arange(n), there)[0]
            raise ValueError(
                f"transition row {row}: has a zero (column {column}); "
                "set smoothing above 0 (for example 0.001)"
            )

    def _refuse(self, wrong: NDArray[np.bool_], advice: str) -> None:
        if wrong.any():
            entry = int(np.argmax(wrong))
            row, column = self.sources[entry], self.columns[entry]
            raise ValueError(f"transition row {row}, column {column}: {advice}")


_DTYPES = {"starts": "=i8", "columns": "=i8", "kept": "=f8", "restart": "=f8"}


def gathered(
    masses: Floats, sources: Integers, weights: Floats | None, targets: Integers, size: int
) -> Floats:
    """Return sums: `result[t]` adds `weights[e] masses[sources[e]]` over the entries e with
    target t.

    Entries are added in their order, each column of `masses` by itself.
    """
    columns = masses.shape[1]
    at_once = max(1, _ENTRIES_AT_ONCE // max(1, len(targets)))
    result = np.empty((size, columns))
    for first in range(0, columns, at_once):
        chosen = np.ascontiguousarray(masses[:, first : first + at_once].T)
        moved = chosen[:, sources]
        if weights is not None:
            moved *= weights
        cells = targets + size * np.arange(len(chosen))[:, None] if len(chosen) > 1 else targets
        sums: Array = np.bincount(cells.ravel(), moved.ravel(), minlength=size * len(chosen))
        result[:, first : first + at_once] = sums.reshape(len(chosen), size).T
    return result


@dataclass(frozen=True, eq=False)
class SparseMarkovModel(FirstOrder):
    """Hold a first-order Markov chain over a large alphabet as sparse rows, strictly positive.

    The same law as `MarkovModel`, kept as sparse rows: a prediction costs O(entries + n) instead of
    O(n^2), and smoothing costs nothing.

    >>> rows = SparseRows.smoothed([({0: 0.75, 1: 0.25}, 0.0), ({1: 1.0}, 0.0)], 2, smoothing=0.1)
    >>> model = SparseMarkovModel(np.array([0.5, 0.5]), rows)
    >>> model.skip(model.start[:, None])[:, 0].round(4).tolist()
    [0.3875, 0.6125]

    Source: SIP specification, section 4.
    """

    prior: Floats
    rows: SparseRows

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", np.array(self.prior, dtype=np.float64))
        check_distribution("prior", self.prior)
        if not len(self.rows) == self.rows.symbols == len(self.prior):
            raise ValueError(
                f"transition: has {len(self.rows)} rows, but there are {len(self.prior)} symbols"
            )
        self.prior.setflags(write=False)

    def as_matrix(self) -> MarkovModel:
        """Return the chain with its rows written out, for what takes a matrix; O(n^2) numbers.

        >>> rows = SparseRows.smoothed([({0: 1.0}, 0.0), ({1: 1.0}, 0.0)], 2, smoothing=0.1)
        >>> SparseMarkovModel(np.array([0.5, 0.5]), rows).as_matrix().transition.round(3).tolist()
        [[0.95, 0.05], [0.05, 0.95]]
        """
        return MarkovModel(self.prior, self.rows.dense())

    def skip(self, belief: Floats) -> Floats:
        return normalised(self.move(belief))

    def move(self, masses: Floats) -> Floats:
        return self.rows.flow(masses, self.rows.columns, self.symbols)

    def mean_after(self, values: Floats) -> Floats:
        return self.rows.mean(values, self.rows.columns)

    @cached_property
    def forgetting_ratio(self) -> float:
        largest, smallest = self.rows.column_range()
        return float(np.max(largest / smallest))

    @property
    def roundings(self) -> int:
        """Return n + 4: a prediction adds at most n products, twice."""
        return self.symbols + 4

    @cached_property
    def excess(self) -> float:
        return max(excess(self.prior), self.rows.excess)

    def identity(self) -> tuple[bytes, ...]:
        return (b"sparse", self.prior.astype("<f8").tobytes(), *self.rows.identity())
