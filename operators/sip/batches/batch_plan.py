"""How batches of one length are released: the cheapest of the algorithms that apply, per stream.

With N = n^w batches of w symbols, and `kernel` linear_program: up to N = 36 the exact linear
program; beyond, whichever expects the least distance of the coarse linear program, the likely
sequences (up to N = 10,000) and symbol by symbol. With `kernel` heuristic no linear program is
solved. The choice is a function of the belief. Source: SIP specification section 8.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from operators.mechanism import Floats, Integers
from operators.nats import charge_of_ratio, exact_exp, exact_expm1, units_of
from operators.sip.batches.batch_law import Algorithm, BatchLaw
from operators.sip.batches.cluster_sequences import MOST_SEQUENCES, ClusterSequences
from operators.sip.batches.likely_sequences import MOST_BATCHES, LikelySequences
from operators.sip.batches.symbol_by_symbol import SymbolBySymbol
from operators.sip.distances import Distance
from operators.sip.kernels import Search
from operators.sip.markov_model import MarkovModel

TIE = 1e-12
_UNIT_ROUNDOFF = 2.0**-53
_LARGEST_PART = 2**21
"""How many numbers a law may take at a time."""


@dataclass(frozen=True)
class Part:
    """The law of the streams `rows`, all released by one algorithm."""

    rows: Integers
    law: BatchLaw


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """Batches of `window` symbols with `epsilon` nats each."""

    model: MarkovModel
    window: int
    epsilon: float
    distance: Distance
    kernel: Search

    def parts(self, belief: Floats) -> Iterator[Part]:
        """The laws at beliefs `(n, rows)`: every row is in one part, whichever rows are with it."""
        rows = np.arange(belief.shape[1])
        at_a_time = max(1, _LARGEST_PART // max(algorithm.size for algorithm in self.algorithms))
        for start in range(0, len(rows), at_a_time):
            some = rows[start : start + at_a_time]
            laws = [algorithm.law(belief[:, some]) for algorithm in self.algorithms]
            if len(laws) == 1:
                yield Part(some, laws[0])
                continue
            chosen = self._cheapest(laws)
            for number, law in enumerate(laws):
                its = np.flatnonzero(chosen == number)
                if len(its) == len(some):
                    yield Part(some, law)
                elif len(its):
                    yield Part(some[its], law.columns(its))

    def charge(self, law: BatchLaw) -> Integers:
        """What a release costs, in units: its leakage, and the rounding of the belief."""
        leaked = law.charge
        if self.rounding_charge is None:
            return 2 * leaked
        return np.where(leaked > 0, leaked + self.rounding_charge, 0)

    @cached_property
    def largest_charge(self) -> int:
        """epsilon with its rounding allowance, or twice epsilon where there is none."""
        bound = units_of(self.epsilon) + 2 * self.window
        return 2 * bound if self.rounding_charge is None else bound + self.rounding_charge

    @cached_property
    def rounding_charge(self) -> int | None:
        """Units per release that cover a belief computed in doubles; None: twice the leakage does.

        As in `conditional_randomized_response`, with the roundings of the algorithm that has most.
        A belief about the first symbol errs as much as the probabilities of batches made from it.
        """
        roundings = max(algorithm.roundings for algorithm in self.algorithms) + 40
        distance = roundings * _UNIT_ROUNDOFF * (self.model.forgetting_ratio + 1.0)
        growth = exact_exp(self.epsilon)
        loss = (growth - 1.0 / growth) * distance
        if loss >= 0.5:
            return None
        return int(charge_of_ratio(np.array([1.0 / (1.0 - loss)]))[0])

    @property
    def sampling_error(self) -> float:
        """Total variation between the law of a batch and its draw by 53-bit inversion."""
        worst = max(
            algorithm.draws * algorithm.outcomes * (algorithm.outcomes + 16)
            for algorithm in self.algorithms
        )
        return worst * _UNIT_ROUNDOFF

    @property
    def draws(self) -> int:
        """How many words a release takes."""
        return max(algorithm.draws for algorithm in self.algorithms)

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """Those that apply, in the order in which ties are broken."""
        batches = self.model.symbols**self.window
        gain, growth = exact_expm1(self.epsilon), exact_exp(self.epsilon)
        grouped = ClusterSequences(
            self.model, self.window, self.distance, self.kernel, gain, growth
        )
        likely = LikelySequences(self.model, self.window, self.distance, gain, growth)
        single = SymbolBySymbol(self.model, self.window, self.distance, self.epsilon / self.window)
        if batches <= MOST_SEQUENCES and self.kernel == "linear_program":
            return (grouped,)
        if batches > MOST_BATCHES:
            return grouped, single
        return (likely, single) if self.kernel == "heuristic" else (grouped, likely, single)

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Those of the algorithms, and of the distance."""
        content: list[str | int | bytes] = [*self.distance.identity()]
        for algorithm in self.algorithms:
            content += algorithm.identity()
        return tuple(content)

    def _cheapest(self, laws: list[BatchLaw]) -> Integers:
        chosen = np.zeros(len(laws[0].cost), dtype=np.int64)
        least = laws[0].cost
        for number, law in enumerate(laws[1:], start=1):
            better = law.cost < least - TIE
            chosen = np.where(better, number, chosen)
            least = np.where(better, law.cost, least)
        return chosen
