"""A Markov chain of second order."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import Chain, check_distribution, excess, normalised
from fugu.operators.sip.sparse_models import SparseRows, gathered


@dataclass(frozen=True, eq=False)
class SecondOrderModel(Chain):
    """Hold a Markov chain of second order: the next symbol depends on the last two.

    Fields: first-symbol probabilities `(n,)`; distinct `pairs (p, 2)` of symbols; one row for each
    symbol, then one for each pair, strictly positive.

    The chain's states are the n symbols and some pairs (u, v). After v, with u before it, the chain
    is in state (u, v) if that is one of the pairs, and in state v otherwise: a pair that the model
    does not list behaves as its last symbol. A restart (see `sparse_rows`) forgets what came
    before, too, so it leads to state v. The first symbol has nothing before it. With all n^2 pairs
    listed and no restarts this is P(next given the last two) = T[u, v, next], dense.

    >>> rows = SparseRows.smoothed(
    ...     [({0: 0.5, 1: 0.5}, 0.0), ({0: 0.5, 1: 0.5}, 0.0), ({1: 1.0}, 0.0)], 2, smoothing=0.1
    ... )
    >>> model = SecondOrderModel(np.array([0.5, 0.5]), np.array([[0, 1]]), rows)
    >>> belief = model.advance(model.start[:, None], np.array([[1.0], [0.0]]))
    >>> model.advance(belief, np.array([[0.0], [1.0]]))[:, 0].round(4).tolist()
    [0.095, 0.905, 0.0]

    A belief over states is exact: B(u, v) = P(x_(k-1) = u, x_k = v given the releases), for listed
    pairs; a release corrects all states by their last symbol, B a(y|v), and the prediction moves
    them along the entries of the rows: O(entries + states).

    Source: SIP specification, section 4 (second order), section 5 (smoothing).
    """

    prior: Floats
    pairs: Integers
    rows: SparseRows

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", np.array(self.prior, dtype=np.float64))
        object.__setattr__(self, "pairs", np.array(self.pairs, dtype=np.int64).reshape(-1, 2))
        check_distribution("prior", self.prior)
        n, states = len(self.prior), len(self.prior) + len(self.pairs)
        if self.rows.symbols != n or len(self.rows) != states:
            raise ValueError(
                f"transition: has {len(self.rows)} rows, but {n} symbols and {len(self.pairs)} "
                "pairs need one each"
            )
        if ((self.pairs < 0) | (self.pairs >= n)).any():
            raise ValueError(f"pairs: symbols are 0..{n - 1}")
        if len(np.unique(self._codes)) != len(self._codes):
            raise ValueError("pairs: every pair may be listed once")
        self.prior.setflags(write=False)
        self.pairs.setflags(write=False)

    @cached_property
    def start(self) -> Floats:
        return np.concatenate([self.prior, np.zeros(len(self.pairs))])

    def marginal(self, belief: Floats) -> Floats:
        return gathered(belief, self._every_state, None, self._last, self.symbols)

    @property
    def symbol_of_state(self) -> Integers:
        return self._last

    def correct(self, belief: Floats, posterior: Floats) -> Floats:
        before = self.marginal(belief)
        ratio = posterior / np.where(before > 0.0, before, 1.0)
        return np.asarray(belief * ratio[self._last])

    def skip(self, belief: Floats) -> Floats:
        return normalised(self.move(belief))

    def move(self, masses: Floats) -> Floats:
        return self.rows.flow(masses, self._targets, len(self.rows))

    def mean_after(self, values: Floats) -> Floats:
        return self.rows.mean(values, self._targets)

    @cached_property
    def forgetting_ratio(self) -> float:
        """Bound two predictions, and any correction between them, as one positive matrix.

        With M[c, z] = sum_v D_v N_v[c, z], where N_v goes from state c through last symbol v to
        state z and D_v > 0 is any correction: if z is a pair (v, w), M has one term, and its ratio
        between two c is one of N_v, at most `pair`. If z is a single symbol, the ratio is at most
        `single`, once rows are normalised, which costs the ratio `symbol` of P(v given c). The
        ratio R of Birkhoff's theorem has R^2 = max M[c, z] M[c', z'] / (M[c', z] M[c, z']).
        """
        largest, smallest = self.rows.column_range()
        symbol = float(np.max(largest / smallest))
        single = self._single_ratio()
        pair = self._pair_ratio(largest, smallest)
        return max(pair, single, sqrt(pair * single * symbol))

    @property
    def memory(self) -> float:
        """Return R + 2: two predictions contract, and the errors of one more come on top."""
        return self.forgetting_ratio + 2.0

    @cached_property
    def excess(self) -> float:
        return max(excess(self.prior), self.rows.excess)

    @property
    def roundings(self) -> int:
        """Count at most all states for a marginal and a prediction, and the correction."""
        return 2 * len(self.rows) + 8

    def identity(self) -> tuple[bytes, ...]:
        numbers = self.prior.astype("<f8").tobytes(), self.pairs.astype("<i8").tobytes()
        return (b"second order", *numbers, *self.rows.identity())

    @cached_property
    def _codes(self) -> Integers:
        return np.asarray(self.pairs[:, 0] * self.symbols + self.pairs[:, 1])

    @cached_property
    def _every_state(self) -> Integers:
        return np.arange(len(self.rows))

    @cached_property
    def _last(self) -> Integers:
        return np.concatenate([np.arange(self.symbols), self.pairs[:, 1]])

    @cached_property
    def _targets(self) -> Integers:
        """Return the state that each entry leads to: the pair, where it is listed."""
        pair = self._last[self.rows.sources] * self.symbols + self.rows.columns
        order = np.argsort(self._codes)
        codes = np.append(self._codes[order], -1)
        at = np.searchsorted(codes[:-1], pair)
        listed = codes[at] == pair
        states = np.append(order, 0)[at] + self.symbols
        return np.where(listed, states, self.rows.columns)

    def _single_ratio(self) -> float:
        """Return the ratio over the columns of single symbols that anything leads to."""
        to_single = self._targets < self.symbols
        restart = self.rows.restart / self.symbols
        largest = np.full(self.symbols, restart.max())
        entries = self.rows.probabilities[to_single]
        np.maximum.at(largest, self._targets[to_single], entries)
        if not largest.any():
            return 1.0
        return float(largest.max() / restart.min()) if restart.min() > 0.0 else inf

    def _pair_ratio(self, largest: Floats, smallest: Floats) -> float:
        """Return the ratio over pairs z = (v, w): N_v goes to v with P(v given c), and on to z.

        From v itself, which a restart leads to; or from every state with last symbol v, if each of
        them has an entry that leads to z.
        """
        to_pair = self._targets >= self.symbols
        target = self._targets[to_pair] - self.symbols
        source, kept = self.rows.sources[to_pair], self.rows.kept[to_pair]
        pairs = len(self.pairs)
        most, least, alone = np.zeros(pairs), np.full(pairs, inf), np.zeros(pairs)
        np.maximum.at(most, target, kept)
        np.minimum.at(least, target, kept)
        direct = source < self.symbols
        alone[target[direct]] = kept[direct]
        v = self.pairs[:, 0]
        sources = np.bincount(self._last, minlength=self.symbols)[v]
        complete = np.bincount(target, minlength=pairs) == sources
        lower = np.where(complete, smallest[v] * np.where(most > 0.0, least, 0.0), 0.0)
        lower = np.maximum(lower, self.rows.restart.min() / self.symbols * alone)
        reached = most > 0.0
        with np.errstate(divide="ignore"):
            ratios = largest[v][reached] * most[reached] / lower[reached]
        return float(ratios.max(initial=1.0))
