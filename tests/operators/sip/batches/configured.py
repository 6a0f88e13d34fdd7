"""Every algorithm for batches by its name, also where the plan would choose another one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.batches.batch_law import Algorithm
from fugu.operators.sip.batches.batch_plan import BatchPlan, BatchPlans
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.batches.cluster_sequences import ClusterSequences
from fugu.operators.sip.batches.likely_sequences import LikelySequences
from fugu.operators.sip.batches.symbol_by_symbol import SymbolBySymbol
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.markov_model import Chain

Make = Callable[[BatchPlan], Algorithm]


def grouped(plan: BatchPlan, search: Search, most: int) -> ClusterSequences:
    return ClusterSequences(plan.walk, plan.window, plan.distance, search, plan.bound, most)


def likely(plan: BatchPlan) -> LikelySequences:
    return LikelySequences(plan.walk, plan.window, plan.distance, plan.bound)


def single(plan: BatchPlan) -> SymbolBySymbol:
    return SymbolBySymbol(plan.walk, plan.window, plan.distance, plan.epsilon)


ALGORITHMS: dict[str, Make] = {
    "exact program": partial(grouped, search="linear_program", most=10_000),
    "coarse program": partial(grouped, search="linear_program", most=5),
    "coarse heuristic": partial(grouped, search="heuristic", most=5),
    "likely sequences": likely,
    "symbol by symbol": single,
}


@dataclass(frozen=True, eq=False)
class OneAlgorithm(BatchPlan):
    """Always the same algorithm."""

    make: Make

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        return (self.make(self),)


def released_by(make: Make) -> type[BatchedRelease]:
    """Batched release with one algorithm."""

    class Plans(BatchPlans):
        def _made(self, length: int) -> BatchPlan:
            plan = super()._made(length)
            return OneAlgorithm(
                plan.walk, plan.window, plan.epsilon, plan.distance, plan.kernel, make
            )

    class Released(BatchedRelease):
        @cached_property
        def _plans(self) -> BatchPlans:
            given = self._walk, self.window, self.epsilon_per_batch, self.distance, self.kernel
            return Plans(*given)

    return Released


def batch_probabilities(model: Chain, belief: Floats, window: int) -> Floats:
    """P(o) of every batch in lexicographic order, from P(first symbol)."""
    probabilities, transition = belief, Walk(model).power(1)
    for _ in range(window - 1):
        last = np.arange(len(probabilities)) % model.symbols
        probabilities = (probabilities[:, None] * transition[last]).ravel()
    return probabilities
