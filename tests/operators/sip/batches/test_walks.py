"""Batches along chains of second order, sparse rows and gaps, against sums over all paths."""

from dataclasses import dataclass
from itertools import accumulate, product

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches import walk as walks
from fugu.operators.sip.batches.batch_law import BatchLaw
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Ordered
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseRows
from tests.operators.sip import dense
from tests.operators.sip.batches.configured import ALGORITHMS, OneAlgorithm
from tests.operators.sip.batches.test_batch_laws import goes_on
from tests.operators.sip.brute_force import Path, TruthLaw, first_order
from tests.operators.sip.chains import random_second_order, sparse, truth_law
from tests.privacy.chains import random_chain
from tests.privacy.gaps import seen_at
from tests.thinned import first_in_test

LONGEST = 4


@dataclass(frozen=True)
class Case:
    """A batch along a chain: the steps after each of its symbols, the last of them included."""

    name: str
    model: Chain
    law: TruthLaw
    steps: Path
    longest: int = 1

    @property
    def window(self) -> int:
        return len(self.steps)

    def plan(self, algorithm: str, epsilon: float) -> OneAlgorithm:
        distance = HAMMING if self.window == 2 else Ordered()
        walk = Walk(self.model, self.longest)
        make = ALGORITHMS[algorithm]
        return OneAlgorithm(walk, self.window, epsilon, distance, "heuristic", make)

    def made(self, algorithm: str, epsilon: float, columns: int = 1) -> BatchLaw:
        """The law of the first batch of a stream."""
        (one,) = self.plan(algorithm, epsilon).algorithms
        belief = np.tile(self.model.start[:, None], columns)
        between = None
        if self.longest > 1:
            between = np.tile(np.array(self.steps[:-1], dtype=np.int64)[:, None], columns)
        return one.law(belief, np.zeros(columns), between)

    def joint(self) -> Floats:
        """P(batch, the symbol after it), summed over everything between."""
        symbols, ticks = self.model.symbols, (0, *accumulate(self.steps))
        seen = seen_at(ticks, self.law, symbols)
        every = product(range(symbols), repeat=len(ticks))
        return np.array([seen(truth) for truth in every]).reshape(-1, symbols)


def cases(seed: int = 1) -> list[Case]:
    rng = np.random.default_rng(seed)
    pairs, triples = random_second_order(2, 3, seed), random_second_order(3, 5, seed)
    two = random_chain(rng, 2)
    of_two = first_order(two.prior, two.transition)
    of_pairs, of_triples = truth_law(pairs), truth_law(triples)
    return [
        Case("two symbols in pairs", pairs.model(), of_pairs, (1, 1, 1)),
        Case("three symbols in pairs", triples.model(), of_triples, (1, 1)),
        Case("pairs with gaps", pairs.model(), of_pairs, (2, 1, 3), LONGEST),
        Case("gaps", two, of_two, (1, 4, 2), LONGEST),
        Case("sparse rows", sparse(two), of_two, (1, 1, 1)),
        Case("sparse rows with gaps", sparse(two), of_two, (3, 1), LONGEST),
        Case("a single symbol in pairs", triples.model(), of_triples, (2,), LONGEST),
    ]


def batches_of(case: Case) -> Integers:
    every = product(range(case.model.symbols), repeat=case.window)
    return np.array(list(every)).reshape(-1, case.window).T


def check_case(case: Case, algorithm: str, epsilon: float) -> None:
    batches, joint = batches_of(case), case.joint()
    count, prior = batches.shape[1], joint.sum(axis=1)
    given, shown = np.indices((count, count)).reshape(2, -1)
    law = case.made(algorithm, epsilon, count * count)
    chance = law.probability(batches[:, given], batches[:, shown]).reshape(count, count)
    assert chance.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    written = chance[:, :, None]
    leaked = dense.leakages(prior[:, None], written)
    assert (leaked <= in_nats(int(law.charge[0])) + 1e-12).all()
    assert in_nats(int(law.charge[0])) <= epsilon + 1e-9
    assert (dense.distances(written) <= 2.0 * epsilon + 1e-9).all()
    for released in np.flatnonzero(chance.max(axis=0) > 0.0):
        told = prior * chance[:, released]
        seen = batches[:, [released]]
        one = case.made(algorithm, epsilon)
        learned = one.learned(seen)
        for position, symbols in enumerate(batches):
            expected = np.bincount(symbols, told, case.model.symbols) / told.sum()
            assert learned[position, :, 0] == pytest.approx(expected, abs=1e-12)
        likely = one.expected(seen)[:, :, 0]
        assert likely == pytest.approx(goes_on(prior @ chance, batches, int(released)), abs=1e-12)
        state = one.last_state(seen, learned)
        assert state.sum() == pytest.approx(1.0, abs=1e-12)
        for _ in range(case.steps[-1]):
            state = case.model.skip(state)
        following = chance[:, released] @ joint
        assert case.model.marginal(state)[:, 0] == pytest.approx(
            following / following.sum(), abs=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", first_in_test(ALGORITHMS, 2))
@pytest.mark.parametrize("number", range(len(cases())))
def test_law_and_beliefs_are_those_of_sums_over_all_paths(number: int, algorithm: str) -> None:
    """What is learned of each symbol, and what is believed of the one after the batch."""
    for seed, epsilon in ((1, 0.7), (2, 4.0)):
        check_case(cases(seed)[number], algorithm, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", first_in_test(ALGORITHMS, 1))
def test_releases_along_pairs_and_gaps_are_as_frequent_as_the_law_says(algorithm: str) -> None:
    draws, case, rng = 5_000, cases()[2], np.random.default_rng(5)
    batches = batches_of(case)
    law = case.made(algorithm, 2.0, draws)
    (one,) = case.plan(algorithm, 2.0).algorithms
    words = rng.integers(2**64, size=(one.draws, draws), dtype=np.uint64)
    truth = batches[:, [5]]
    released = law.release(np.tile(truth, draws), words)
    observed = np.bincount(np.ravel_multi_index(tuple(released), (2, 2, 2)), minlength=8)
    few = case.made(algorithm, 2.0, 8)
    expected = draws * few.probability(np.tile(truth, 8), batches)
    possible = expected > 0.0
    assert observed[~possible].sum() == 0
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    assert statistic < 30.0


def beliefs(case: Case, rows: int) -> tuple[Floats, Integers | None]:
    """Beliefs about states, and the steps of each row."""
    rng = np.random.default_rng(rows)
    belief = rng.dirichlet(np.ones(len(case.model.start)), rows).T
    steps = rng.integers(1, LONGEST + 1, size=(case.window - 1, rows))
    return np.ascontiguousarray(belief), steps if case.longest > 1 else None


def columns_of(law: BatchLaw, case: Case, rows: int, draws: int) -> list[bytes]:
    """Everything that a law makes of each row."""
    rng = np.random.default_rng(7)
    batches = rng.integers(case.model.symbols, size=(case.window, rows))
    words = rng.integers(2**64, size=(draws, rows), dtype=np.uint64)
    released = law.release(batches, words)
    learned = law.learned(released)
    made = released, learned, law.last_state(released, learned), law.cost, law.charge
    return [
        b"".join(np.ascontiguousarray(part[..., row]).tobytes() for part in made)
        for row in range(rows)
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_row_has_the_same_bytes_alone_and_without_compiled_code(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 5
    for case in cases():
        belief, steps = beliefs(case, rows)
        (one,) = case.plan(algorithm, 3.0).algorithms
        distances = np.linspace(0.0, 1e-9, rows)
        together = columns_of(one.law(belief, distances, steps), case, rows, one.draws)
        law = one.law(belief, distances, steps)
        for row in range(rows):
            its = np.array([row])
            few = None if steps is None else steps[:, its]
            alone = one.law(np.ascontiguousarray(belief[:, its]), distances[its], few)
            picked = law.columns(its)
            assert alone.cost.tobytes() == picked.cost.tobytes() == law.cost[its].tobytes()
            assert alone.charge.tobytes() == picked.charge.tobytes() == law.charge[its].tobytes()
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "available", lambda: False)
            (plain,) = case.plan(algorithm, 3.0).algorithms
            by_numpy = columns_of(plain.law(belief, distances, steps), case, rows, one.draws)
        assert by_numpy == together


def test_steps_that_are_no_matrix_make_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of many states take one step after the other, forwards and backwards."""
    for case in cases():
        for algorithm in ("coarse heuristic", "symbol by symbol"):
            belief, steps = beliefs(case, 4)
            (one,) = case.plan(algorithm, 2.0).algorithms
            written = one.law(belief, np.zeros(4), steps)
            rng = np.random.default_rng(3)
            truth = rng.integers(case.model.symbols, size=(case.window, 4))
            words = rng.integers(2**64, size=(one.draws, 4), dtype=np.uint64)
            released = written.release(truth, words)
            with monkeypatch.context() as patch:
                patch.setattr(walks, "LARGEST_MATRIX", 0)
                patch.setattr(walks, "LARGEST_POWER", 0)
                stepped = one.law(belief, np.zeros(4), steps)
                assert stepped.cost == pytest.approx(written.cost, abs=1e-12)
                assert (stepped.release(truth, words) == released).all()
                told = stepped.learned(released)
                last = stepped.last_state(released, told)
            assert told == pytest.approx(written.learned(released), abs=1e-12)
            assert last == pytest.approx(written.last_state(released, told), abs=1e-12)


def test_powers_are_powers() -> None:
    for case in cases():
        walk = Walk(case.model, longest=50)
        for steps in (1, 2, 3, 7, 32, 50):
            power = np.linalg.matrix_power(walk.power(1), steps)
            assert walk.power(steps) == pytest.approx(power, abs=1e-12)


def contraction(matrix: Floats) -> float:
    """R of Birkhoff's theorem, over the states that anything leads to."""
    matrix = matrix[:, matrix.max(axis=0) > 0.0]
    ratios = matrix[:, None, :] / matrix[None, :, :]
    return float(np.sqrt((ratios[..., :, None] / ratios[..., None, :]).max()))


def test_batches_forget_at_least_as_fast_as_said() -> None:
    """A law that ties a symbol to the next one, of epsilon, between two steps of the chain."""
    for seed in range(5):
        rows = np.random.default_rng(seed).dirichlet(np.ones(2), 6)
        entries = [({v: 0.9 * p for v, p in enumerate(row)}, 0.1) for row in rows.tolist()]
        pairs = np.array(list(product(range(2), repeat=2)))
        model = SecondOrderModel(rows[0], pairs, SparseRows.smoothed(entries, 2, smoothing=0.0))
        walk, epsilon = Walk(model), 2.0
        step, last = walk.power(1), model.symbol_of_state
        for ties in product([-epsilon, epsilon], repeat=4):
            tied = np.exp(np.array(ties).reshape(2, 2))[np.ix_(last, last)] * step
            assert contraction(step @ tied @ step) + 2.0 <= walk.memory(2, epsilon)
        assert walk.memory(1, epsilon) == model.memory
    chain = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], smoothing=0.0)
    assert Walk(chain, 7).memory(5, 3.0) == chain.memory
