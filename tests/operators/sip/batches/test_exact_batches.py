"""Laws over batches, all words counted: exactly private for every belief in doubt, and complete."""

from decimal import Decimal

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_plan import BatchPlan
from fugu.operators.sip.batches.cluster_sequences import ClusterLaw
from fugu.operators.sip.batches.sequence_law import SequenceLaw
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Distance, Ordered
from fugu.operators.sip.integer_law import SharesLaw
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.sip.batches.configured import ALGORITHMS, batch_probabilities
from tests.operators.sip.exact_leakage import ExactLaw
from tests.privacy.chains import binary, random_chain

WORDS = 2**64
FEW = [(2, 5, 30.0), (2, 8, 3.0), (2, 8, 40.0), (3, 3, 12.0)]
MANY = [
    (symbols, window, epsilon)
    for symbols, window in [(2, 8), (2, 10), (2, 11), (3, 6)]
    for epsilon in (3.0, 8.0, 20.0, 30.0, 40.0)
]
DISTANCES = (0.0, 1e-9, 0.01)


def chain(symbols: int) -> MarkovModel:
    if symbols == 2:
        return binary(stays=0.9, first=0.5)
    return random_chain(np.random.default_rng(symbols), symbols)


def words_of(law: SharesLaw) -> Words:
    """W(y|x) as `[x, y]`, of one column."""
    symbols = len(law.belief)
    return np.stack([law.weights(np.array([x]))[:, 0] for x in range(symbols)])


def check_batches(name: str, symbols: int, window: int, epsilon: float, distance: float) -> int:
    """The law at the prior; how many releases it has."""
    plan = BatchPlan(Walk(chain(symbols)), window, epsilon, HAMMING, "heuristic")
    belief = plan.walk.model.prior[:, None]
    law = ALGORITHMS[name](plan).law(belief, np.array([distance]))
    assert isinstance(law, SequenceLaw | ClusterLaw)
    exact = ExactLaw(law.law.belief[:, 0], words_of(law.law), distance)
    assert not law.law.constant[0]
    assert exact.rows_are_complete
    assert exact.forgets_nothing
    assert exact.excess(epsilon) < 0
    assert exact.local_excess(epsilon) < 0
    assert exact.unpaid(int(law.charge[0])) <= Decimal(0)
    assert int(law.charge[0]) <= plan.bound.charge
    return int(law.law.support.sum())


@pytest.mark.parametrize(("symbols", "window", "epsilon"), FEW)
@pytest.mark.parametrize("distance", DISTANCES)
def test_likely_batches_are_released_within_epsilon(
    symbols: int, window: int, epsilon: float, distance: float
) -> None:
    assert check_batches("likely sequences", symbols, window, epsilon, distance) > 1


@pytest.mark.parametrize("epsilon", [1.0, 12.0, 30.0])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", ["coarse program", "coarse heuristic", "exact program"])
def test_groups_of_batches_are_released_within_epsilon(
    name: str, distance: float, epsilon: float
) -> None:
    check_batches(name, 3, 3, epsilon, distance)


@pytest.mark.acceptance
@pytest.mark.parametrize(("symbols", "window", "epsilon"), MANY)
def test_thousands_of_batches_are_released_within_epsilon(
    symbols: int, window: int, epsilon: float
) -> None:
    check_batches("likely sequences", symbols, window, epsilon, 1e-12)


@pytest.mark.parametrize("kernel", ["linear_program", "heuristic"])
def test_no_releasable_batch_of_five_bits_is_undrawable_at_epsilon_30(kernel: Search) -> None:
    """With 53 bits of a word, 230 of 32 x 32 entries were never drawn."""
    plan = BatchPlan(Walk(binary(stays=0.9, first=0.5)), 5, 30.0, HAMMING, kernel)
    (part,) = plan.parts(plan.walk.model.prior[:, None], np.zeros(1))
    assert isinstance(part.law, SequenceLaw | ClusterLaw)
    law = part.law.law
    assert law.support.all()
    for x in range(32):
        assert counted(law, x) == [int(words) for words in words_of(law)[x]]


def counted(law: SharesLaw, x: int) -> list[int]:
    """How many words give each batch, from draws on both sides of every border."""
    total = int(law.total[0])
    shares = np.cumsum(law.shares.row(np.array([x]))[:, 0]).tolist()
    common = [total + reached for reached in np.cumsum(law.common[:, 0]).tolist()]
    borders = sorted({0, *shares, *(border for border in common if border < WORDS)})
    count = [0] * 32
    for begin, end in zip(borders, [*borders[1:], WORDS], strict=True):
        words = np.array([begin, end - 1], dtype=np.uint64)
        drawn = {int(law.draw(np.array([x]), words[[side]])[0]) for side in (0, 1)}
        assert len(drawn) == 1
        assert min(drawn) >= 0
        count[drawn.pop()] += end - begin
    assert min(count) > 0
    return count


@pytest.mark.parametrize("distance", [HAMMING, Ordered()])
@pytest.mark.parametrize("epsilon", [0.7, 3.0, 9.0])
def test_symbol_by_symbol_leaks_no_more_than_epsilon(distance: Distance, epsilon: float) -> None:
    """The steps' words multiply: 2^128 pairs of words, each of them for one pair of symbols."""
    model, window = chain(3), 2
    plan = BatchPlan(Walk(model), window, epsilon, distance, "heuristic")
    law = ALGORITHMS["symbol by symbol"](plan).law(model.prior[:, None], np.zeros(1))
    batches = np.indices((3, 3)).reshape(2, -1)
    given = np.array([[chance(law, o, r) for r in batches.T] for o in batches.T])
    prior = batch_probabilities(model, model.prior, window)
    released = prior @ given
    seen = released > 0.0
    assert given.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (given[:, seen] > 0.0).all()
    leaked = np.abs(np.log(given[:, seen] / released[seen]))
    assert leaked.max() <= epsilon + 1e-12
    assert leaked.max() <= law.charge[0] / 2**40 + 1e-12
    assert law.charge[0] <= plan.bound.charge


def chance(law: object, batch: Integers, released: Integers) -> float:
    probability = getattr(law, "probability")  # noqa: B009
    return float(probability(batch[:, None], released[:, None])[0])


@pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
def test_an_uncertain_belief_is_paid_with_accuracy_alone() -> None:
    plan = BatchPlan(Walk(chain(2)), 8, 8.0, HAMMING, "heuristic")
    law: Floats = np.array([accuracy(plan, distance) for distance in (0.0, 1e-13, 1e-3, 0.1)])
    assert (np.diff(law) <= 0.0).all()
    assert law[0] - law[1] <= 1e-11
    assert law[3] > 0.5


def accuracy(plan: BatchPlan, distance: float) -> float:
    """How likely the released batch is the true one."""
    law = ALGORITHMS["likely sequences"](plan).law(
        plan.walk.model.prior[:, None], np.array([distance])
    )
    assert isinstance(law, SequenceLaw)
    words = words_of(law.law).astype(np.float64)
    return float((law.law.belief[:, 0] * np.diag(words)).sum() / WORDS)
