"""Choose the algorithm for a batch, and the bytes that its draws are bound to."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.columns import DIGEST_BYTES, ByteColumn, Bytes, encode_field
from fugu.operators.digests import digests_of, extended
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import Algorithm, BatchLaw
from fugu.operators.sip.batches.cluster_sequences import MOST_SEQUENCES, ClusterSequences
from fugu.operators.sip.batches.likely_sequences import MOST_BATCHES, LikelySequences
from fugu.operators.sip.batches.symbol_by_symbol import MOST_COMPARED, MiddleGroups, SymbolBySymbol
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.inputs import bound_to
from fugu.operators.sip.integer_law import FORMAT
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.privacy_bound import PrivacyBound, Radius


@dataclass(frozen=True)
class BatchBindings:
    """Bind draws to batches of at most `window` symbols and, through the belief, to releases."""

    symbols: int
    window: int

    def of(self, batches: Integers, histories: Words) -> ByteColumn:
        """Return one binding for each column of `batches (positions, rows)`."""
        if self.symbols ** len(batches) > MOST_BATCHES:
            return bound_to(_digests(batches), np.arange(batches.shape[1]), histories)
        number = np.ravel_multi_index(tuple(batches), (self.symbols,) * len(batches))
        return bound_to(self._known[len(batches)], number, histories)

    @cached_property
    def _known(self) -> dict[int, Bytes]:
        """Return the digests of all batches of each length that has few, in order."""
        n = self.symbols
        lengths = [w for w in range(1, self.window + 1) if n**w <= MOST_BATCHES]
        return {w: _digests(np.indices((n,) * w).reshape(w, -1)) for w in lengths}


def extended_by_batch(history: Words, released: Integers) -> Words:
    """Return the digest of what was released, with a batch of each row, `(positions, rows)`."""
    history = extended(history, np.full(released.shape[1], len(released)))
    for symbols in released:
        history = extended(history, symbols)
    return history


def _digests(batches: Integers) -> Bytes:
    """Return the `binding_digest` of the bytes of each batch, one row each."""
    content = np.ascontiguousarray(batches.T).astype("<i8").view(np.uint8)
    size = encode_field(content[0].tobytes())[: -content.shape[1]]
    sizes = np.tile(np.frombuffer(size, dtype=np.uint8), (len(content), 1))
    digests = digests_of(ByteColumn.of_table(np.concatenate([sizes, content], axis=1)))
    return digests.content.reshape(-1, DIGEST_BYTES)


TIE = 1e-12
_LARGEST_PART = 2**21
"""Limit the numbers that a law may take at a time."""


@dataclass(frozen=True)
class Part:
    """Hold the law of the streams `rows`, all released by one algorithm."""

    rows: Integers
    law: BatchLaw


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """Choose the cheapest of the algorithms that apply, per stream, for batches of one length.

    A batch has `window` symbols and `epsilon` nats.

    With N = n^w batches of w symbols, and `kernel` linear_program: up to N = 36 the exact linear
    program; beyond, whichever expects the least distance of the coarse linear program, the likely
    sequences (up to N = 10,000, and as long as steps are matrices, see `walk`) and symbol by
    symbol. With `kernel` heuristic no linear program is solved. The choice is a function of the
    belief. Source: SIP specification section 8.
    """

    walk: Walk
    window: int
    epsilon: float
    distance: Distance
    kernel: Search

    def parts(
        self, belief: Floats, distances: Floats, steps: Integers | None = None
    ) -> Iterator[Part]:
        """Yield the laws at beliefs `(states, rows)`, at most so far from the exact ones: every row
        is in one part, whichever rows are with it.

        `steps (window - 1, rows)` of the chain lie between positions, or one each.
        """
        rows = np.arange(belief.shape[1])
        at_a_time = max(1, _LARGEST_PART // max(algorithm.size for algorithm in self.algorithms))
        for start in range(0, len(rows), at_a_time):
            some = rows[start : start + at_a_time]
            between = None if steps is None else steps[:, some]
            laws = [each.law(belief[:, some], distances[some], between) for each in self.algorithms]
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

    @cached_property
    def bound(self) -> PrivacyBound:
        """Return what epsilon allows."""
        return PrivacyBound.of(self.epsilon)

    @property
    def roundings(self) -> int:
        """Return the most roundings of any algorithm, with a prediction from the last symbol."""
        return max(algorithm.roundings for algorithm in self.algorithms) + self.walk.model.roundings

    @property
    def draws(self) -> int:
        """Return how many words a release takes."""
        return max(algorithm.draws for algorithm in self.algorithms)

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """Return the algorithms that apply, in the order in which ties are broken."""
        batches = self.walk.symbols**self.window
        batch = self.walk, self.window, self.distance
        grouped = ClusterSequences(*batch, self.kernel, self.bound)
        if batches <= MOST_SEQUENCES and self.kernel == "linear_program":
            return (grouped,)
        single = SymbolBySymbol(*batch, self.epsilon)
        if self.walk.symbols > MOST_COMPARED:
            return MiddleGroups(*batch, self.kernel, self.bound), single
        if batches > MOST_BATCHES or not (self.window == 1 or self.walk.has_powers):
            return grouped, single
        likely = LikelySequences(*batch, self.bound)
        return (likely, single) if self.kernel == "heuristic" else (grouped, likely, single)

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Return how laws are made and drawn, the distance, and the algorithms."""
        content: list[str | int | bytes] = [*FORMAT, *self.distance.identity()]
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


@dataclass(frozen=True, eq=False)
class BatchPlans:
    """Plan batches of `window` symbols, and the shorter ones at the end of a stream.

    h of w symbols have h/w of `epsilon_per_batch`.
    """

    walk: Walk
    window: int
    epsilon_per_batch: float
    distance: Distance
    kernel: Search

    def of_length(self, length: int) -> BatchPlan:
        """Return the plan for so many symbols, 1 to `window`."""
        return self._plans[length - 1]

    @cached_property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones: a batch counts as one prediction.

        It errs as much as the worst algorithm for any length, or as its positions one by one, of
        which each may meet a row of the chain that misses the sum 1.
        """
        model, positions = self.walk.model, self.window * self.walk.longest
        one_by_one = positions * (model.roundings + 8)
        plans = self._plans[-1], *self._plans[:-1]
        roundings = max(one_by_one, *(plan.roundings for plan in plans))
        memory = self.walk.memory(self.window, self.epsilon_per_batch)
        return Radius.of(roundings, positions * model.excess, memory)

    @cached_property
    def _plans(self) -> tuple[BatchPlan, ...]:
        return tuple(map(self._made, range(1, self.window + 1)))

    def _made(self, length: int) -> BatchPlan:
        epsilon = self.epsilon_per_batch * length / self.window
        return BatchPlan(self.walk, length, epsilon, self.distance, self.kernel)
