"""A first-order Markov chain over a large alphabet."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.chain import FirstOrder
from fugu.operators.sip.markov_model import MarkovModel, check_distribution, excess, normalised
from fugu.operators.sip.sparse_rows import SparseRows


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
