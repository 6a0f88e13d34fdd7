"""Describe how symbols follow each other: chains of beliefs, and Markov chains of first order."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isfinite

import numpy as np

from fugu.operators.mechanism import Floats, Integers


class Chain(ABC):
    """Predict the next symbol in a frozen model where every symbol can follow every history.

    A belief is a distribution over the *states* of the chain: what it remembers of a stream. A
    state knows its last symbol, so a belief over states has a marginal over symbols, which is all
    that a release depends on; a first-order chain remembers the symbol and nothing else. Beliefs
    are `(states, rows)` and marginals `(symbols, rows)`: one column per stream.

    `MarkovModel` (dense), `SparseMarkovModel` and `SecondOrderModel` are chains. All of them
    compute in a fixed order, so that one row alone and in a batch has the same bits.
    """

    prior: Floats
    """P(first symbol), `(symbols,)`."""

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""
        return len(self.prior)

    @property
    @abstractmethod
    def start(self) -> Floats:
        """Return the belief before the first release, `(states,)`."""

    @abstractmethod
    def marginal(self, belief: Floats) -> Floats:
        """Return P(current symbol)."""

    @property
    @abstractmethod
    def symbol_of_state(self) -> Integers:
        """Return the last symbol of each state."""

    @abstractmethod
    def correct(self, belief: Floats, posterior: Floats) -> Floats:
        """Return the belief at this position, after a release that made `posterior` of the
        marginal.

        What a release says depends on the current symbol only, so every state is corrected by as
        much as its symbol.
        """

    def advance(self, belief: Floats, posterior: Floats) -> Floats:
        """Return the belief at the next position, after such a release."""
        return self.skip(self.correct(belief, posterior))

    @abstractmethod
    def move(self, masses: Floats) -> Floats:
        """Return where masses of states are one step later, not normalised."""

    @abstractmethod
    def mean_after(self, values: Floats) -> Floats:
        """Return, for each state, the mean of `values (states, rows)` over the state that comes
        next."""

    @abstractmethod
    def skip(self, belief: Floats) -> Floats:
        """Return the belief at the next position, where nothing was released."""

    @property
    @abstractmethod
    def forgetting_ratio(self) -> float:
        """Return R: two steps contract Hilbert's distance between beliefs to `1 - 2/(R + 1)`
        of it.

        Whatever is released meanwhile. It is infinite where no such bound is known.
        """

    @property
    @abstractmethod
    def memory(self) -> float:
        """Return the most steps whose errors a belief remembers: (R + 1)/2 where each step
        contracts by the forgetting ratio R, R + 2 where two do."""

    @property
    @abstractmethod
    def roundings(self) -> int:
        """Return the relative error of `marginal` and `advance` in one step, in roundings."""

    @property
    @abstractmethod
    def excess(self) -> float:
        """Return the most by which the prior or a row misses the sum 1: the exact model divides."""

    @abstractmethod
    def identity(self) -> tuple[bytes, ...]:
        """Return every number of the model, for digests."""


class FirstOrder(Chain):
    """Remember the current symbol and nothing else: a belief is its own marginal.

    By Birkhoff's theorem one prediction contracts Hilbert's projective distance between two beliefs
    to at most `1 - 2 / (R + 1)` of it, where R, the forgetting ratio, is the largest ratio between
    two entries of one column.
    """

    @property
    def start(self) -> Floats:
        return self.prior

    @property
    def symbol_of_state(self) -> Integers:
        return np.arange(self.symbols)

    def marginal(self, belief: Floats) -> Floats:
        return belief

    def correct(self, belief: Floats, posterior: Floats) -> Floats:
        return posterior

    @property
    def memory(self) -> float:
        return (self.forgetting_ratio + 1.0) / 2.0


SUM_TOLERANCE = 1e-6
SMALLEST_ENTRY = 1e-100
"""Products of smaller probabilities may leave the doubles, and with them every proof."""
ROUNDED_SUM = 1e-12
_FEW_COLUMNS = 64
"""Below it one call of numpy costs more than the sums it holds."""


@dataclass(frozen=True, eq=False)
class MarkovModel(FirstOrder):
    """Hold a first-order Markov chain, publicly assumed about a stream of symbols.

    `prior (n,)` and `transition (n, n)` are strictly positive.

    The guarantee of a SIP mechanism is relative to this model, so it is smoothed to be strictly
    positive (otherwise a single impossible observation would never be forgotten) and then frozen.

    `transition[u, v]` is P(next = v given now = u). Both are copied. Raises `ValueError` naming the
    row that is not a probability distribution.

    >>> model = MarkovModel.smoothed([0.5, 0.5], [[1.0, 0.0], [0.2, 0.8]], smoothing=0.01)
    >>> model.symbols, model.transition[0].tolist()
    (2, [0.995, 0.005])

    Source: SIP specification sections 1, 4 and 5; paper section II-B, equation 13. Arithmetic: sums
    over symbols are written out in symbol order, so one row alone and in a batch has the same bits.
    """

    prior: Floats
    transition: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", np.array(self.prior, dtype=np.float64))
        object.__setattr__(self, "transition", np.array(self.transition, dtype=np.float64))
        symbols = len(self.prior)
        if symbols == 0:
            raise ValueError("prior: needs at least one symbol")
        if self.prior.shape != (symbols,):
            raise ValueError(f"prior: must be a list of {symbols} probabilities")
        if self.transition.shape != (symbols, symbols):
            raise ValueError(
                f"transition: shape is {self.transition.shape}, "
                f"but {symbols} symbols need ({symbols}, {symbols})"
            )
        check_distribution("prior", self.prior)
        for row in range(symbols):
            check_distribution(f"transition row {row}", self.transition[row])
        self.prior.setflags(write=False)
        self.transition.setflags(write=False)

    @classmethod
    def smoothed(
        cls,
        prior: Sequence[float] | Floats,
        transition: Sequence[Sequence[float]] | Floats,
        smoothing: float,
    ) -> "MarkovModel":
        """Mix every distribution with the uniform one: `(1 - smoothing) p + smoothing / n`."""
        check_smoothing(smoothing)
        first = smoothed_row("prior", prior, smoothing)
        rows = [
            smoothed_row(f"transition row {index}", row, smoothing)
            for index, row in enumerate(transition)
        ]
        for index, row in enumerate(rows):
            if len(row) != len(first):
                raise ValueError(
                    f"transition row {index}: has {len(row)} entries, "
                    f"but the prior has {len(first)} symbols"
                )
        return cls(np.array(first), np.array(rows).reshape(len(rows), len(first)))

    def skip(self, belief: Floats) -> Floats:
        return self.predict(belief)

    def predict(self, posterior: Floats) -> Floats:
        """Return P(next symbol) from P(current symbol), both `(n, rows)`."""
        return normalised(self.move(posterior))

    def move(self, masses: Floats) -> Floats:
        return moved(masses, self.transition)

    def mean_after(self, values: Floats) -> Floats:
        return moved(values, self.transition.T)

    @cached_property
    def forgetting_ratio(self) -> float:
        return float(np.max(self.transition.max(axis=0) / self.transition.min(axis=0)))

    @property
    def roundings(self) -> int:
        """Return n: a prediction adds n products."""
        return self.symbols

    @cached_property
    def excess(self) -> float:
        return max(excess(self.prior), *map(excess, self.transition))

    def identity(self) -> tuple[bytes, ...]:
        return self.prior.astype("<f8").tobytes(), self.transition.astype("<f8").tobytes()


def moved(masses: Floats, transition: Floats) -> Floats:
    """Return sum over u of masses[u] transition[u, v], added in the order of u.

    `masses` are `(states, ..., rows)`, and `transition` is `(states, states)`, or `(states,
    states, rows)` with one matrix for each row.
    """
    per_row = transition.ndim == 3
    between = (1,) * (masses.ndim - 1 - per_row)
    total = np.zeros_like(masses)
    for state, row in enumerate(transition):
        total = total + masses[state] * row.reshape(len(row), *between, *row.shape[1:])
    return total


def normalised(columns: Floats) -> Floats:
    """Divide each column of `(n, rows)` by its sum, added in symbol order."""
    return columns / ordered_sum(columns)


def excess(probabilities: Floats) -> float:
    """Return |sum - 1|, added exactly and rounded once."""
    return abs(fsum([*probabilities.tolist(), -1.0]))


def ordered_sum(columns: Floats) -> Floats:
    """Sum over the first axis, one addition after the other: a running sum has no other order."""
    if columns.size < _FEW_COLUMNS * len(columns):
        return np.asarray(np.add.accumulate(columns, axis=0)[-1])
    total: Floats = columns[0].copy()
    for row in columns[1:]:
        total += row
    return total


def smoothed_row(
    name: str, probabilities: Sequence[float] | Floats, smoothing: float
) -> list[float]:
    """Return the probabilities, normalised and mixed with uniform ones; `name` is for errors."""
    values = [float(value) for value in probabilities]
    check_entries(name, values)
    total = fsum(values)
    uniform = smoothing / len(values)
    return [(1.0 - smoothing) * value / total + uniform for value in values]


def check_smoothing(smoothing: float) -> None:
    """Raise `ValueError` for a share that is none."""
    if not 0.0 <= smoothing < 1.0:
        raise ValueError(f"smoothing: must be at least 0 and below 1, not {smoothing}")


def check_entries(name: str, values: Sequence[float], columns: Sequence[object] = ()) -> None:
    """Raise `ValueError` unless the values are a distribution, up to rounding by hand.

    `columns` names the column of each of the first values, if it is not that of its number.
    """
    if len(values) == 0:
        raise ValueError(f"{name}: needs at least one symbol")
    for number, value in enumerate(values):
        if value >= 0.0 and isfinite(value):
            continue
        column = columns[number] if number < len(columns) else number
        if not isfinite(value):
            raise ValueError(f"{name}: every entry must be a finite number (column {column})")
        raise ValueError(f"{name}: probabilities must not be negative (column {column})")
    total = fsum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{name}: probabilities must sum to 1, they sum to {total:.6g}")


def check_distribution(name: str, values: Floats) -> None:
    """Raise `ValueError` unless the values are strictly positive and sum to 1."""
    check_entries(name, values.tolist())
    if not (values > 0.0).all():
        column = int(np.argmin(values))
        raise ValueError(
            f"{name}: has a zero (column {column}); set smoothing above 0 (for example 0.001)"
        )
    if (values < SMALLEST_ENTRY).any():
        raise ValueError(
            f"{name}: has an entry below {SMALLEST_ENTRY:g} (column {int(np.argmin(values))}); "
            "set smoothing above 0 (for example 0.001)"
        )
    beyond = fsum(values.tolist()) - 1.0
    if abs(beyond) > ROUNDED_SUM:
        raise ValueError(f"{name}: sums to 1 {beyond:+.0e}; MarkovModel.smoothed normalises")
