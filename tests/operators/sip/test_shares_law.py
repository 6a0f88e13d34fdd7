"""Integer laws of proposals with rows of their own: all words counted, against the exact claim."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Words
from fugu.operators.sip.distances import Ordered
from fugu.operators.sip.integer_law import SharesLaw
from fugu.operators.sip.kernels import choose_kernel
from fugu.operators.sip.metric_kernel import Assignment
from fugu.operators.sip.privacy_bound import PrivacyBound, doubt
from fugu.operators.sip.proposals import ExplicitKernel, FewShares, SharedProposal
from tests.operators.sip.beliefs import random_beliefs
from tests.operators.sip.choices import scattered
from tests.operators.sip.exact_leakage import ExactLaw

DISTANCES = (0.0, 1e-13, 1e-9, 1e-3, 0.05)
Propose = Callable[[np.random.Generator, Floats, PrivacyBound], SharedProposal]


def ordered(_: np.random.Generator, belief: Floats, bound: PrivacyBound) -> SharedProposal:
    kernel = choose_kernel(Ordered(), "optimal", "heuristic", len(belief), bound.gain, bound.growth)
    return assigned(kernel.propose(belief))


def points(_: np.random.Generator, belief: Floats, bound: PrivacyBound) -> SharedProposal:
    places = scattered(len(belief))
    kernel = choose_kernel(places, "optimal", "heuristic", len(belief), bound.gain, bound.growth)
    return assigned(kernel.propose(belief))


def program(_: np.random.Generator, belief: Floats, bound: PrivacyBound) -> SharedProposal:
    kernel = choose_kernel(
        Ordered(), "optimal", "linear_program", len(belief), bound.gain, bound.growth
    )
    return assigned(kernel.propose(belief))


def assigned(proposal: object) -> SharedProposal:
    assert isinstance(proposal, Assignment | ExplicitKernel)
    return proposal


def one_target(rng: np.random.Generator, belief: Floats, _: PrivacyBound) -> SharedProposal:
    symbols = len(belief)
    return Assignment.to(rng.integers(rng.integers(1, symbols + 1), size=belief.shape))


def few_targets(rng: np.random.Generator, belief: Floats, _: PrivacyBound) -> SharedProposal:
    targets = rng.integers(len(belief), size=(3, *belief.shape))
    weights = rng.dirichlet(np.full(3, 0.5), belief.shape).transpose(2, 0, 1)
    return Assignment.merged(targets, np.ascontiguousarray(weights))


def matrix(rng: np.random.Generator, belief: Floats, _: PrivacyBound) -> SharedProposal:
    symbols, rows = belief.shape
    entries = rng.dirichlet(np.full(symbols, 0.3), (symbols, rows)).transpose(0, 2, 1)
    entries = np.where(rng.random((1, symbols, rows)) < 0.3, 0.0, entries) + 1e-300
    return ExplicitKernel(np.ascontiguousarray(entries / entries.sum(axis=1, keepdims=True)))


PROPOSALS: dict[str, Propose] = {
    "ordered": ordered,
    "points": points,
    "linear program": program,
    "one target": one_target,
    "few targets": few_targets,
    "matrix": matrix,
}


@dataclass(frozen=True)
class Case:
    """Laws at several beliefs, at the same distance from the exact ones."""

    epsilon: float
    distance: float
    law: SharesLaw

    def exact(self, row: int) -> ExactLaw:
        return ExactLaw(self.law.belief[:, row], written(self.law)[:, :, row], self.distance)

    @property
    def rows(self) -> list[int]:
        return np.flatnonzero(~self.law.constant).tolist()


def written(law: SharesLaw) -> Words:
    """W(y|x) as `[x, y, row]`."""
    symbols, rows = law.belief.shape
    return np.stack([law.weights(np.full(rows, x)) for x in range(symbols)])


def cases(propose: Propose, count: int, rows: int, seed: int = 18) -> Iterator[Case]:
    """Epsilons from 0.001 to 50, beliefs with zeros and down to e^(-2.5 epsilon)."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        anywhere = float(np.exp(rng.uniform(np.log(1e-3), np.log(50.0))))
        epsilon = (1e-3, 36.0, 50.0)[number % 8] if number % 8 < 3 else anywhere
        symbols = int(rng.integers(2, 9))
        belief = random_beliefs(rng, symbols, rows)
        steep = np.exp(-2.5 * epsilon * rng.random((symbols, rows)))
        belief = np.where(rng.random(rows) < 0.5, belief, steep / steep.sum(axis=0))
        bound, distance = PrivacyBound.of(epsilon), DISTANCES[number % len(DISTANCES)]
        proposal = propose(rng, belief, bound)
        doubts = np.full(rows, doubt(distance, symbols))
        yield Case(epsilon, distance, SharesLaw.of(belief, proposal, bound, doubts))


def check(propose: Propose, count: int, rows: int, seed: int = 18) -> int:
    """All words of every law, in rational numbers; how many laws there were."""
    laws, worst = 0, Decimal(-100)
    for case in cases(propose, count, rows, seed):
        for row in case.rows:
            law = case.exact(row)
            assert law.rows_are_complete
            assert law.forgets_nothing
            worst = max(worst, law.excess(case.epsilon), law.unpaid(int(case.law.charge[row])))
            worst = max(worst, law.local_excess(case.epsilon))
            laws += 1
    assert worst < 0, worst
    return laws


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPOSALS)
def test_no_law_leaks_more_than_epsilon_for_any_belief_within_its_distance(name: str) -> None:
    assert check(PROPOSALS[name], 40, 3) > 50


@pytest.mark.acceptance
@pytest.mark.parametrize("name", PROPOSALS)
def test_no_law_of_thousands_leaks_more_than_epsilon(name: str) -> None:
    assert check(PROPOSALS[name], 800, 3, seed=9) > 1200


@pytest.mark.parametrize("name", PROPOSALS)
def test_exactly_its_words_draw_a_symbol(name: str) -> None:
    """Both sides of every border: the draw changes there and nowhere else."""
    for case in cases(PROPOSALS[name], 8, 2):
        for row in case.rows:
            words = written(case.law)[:, :, row]
            for x in range(len(words)):
                assert drawn_words(case.law, row, x) == [int(w) for w in words[x]]


def drawn_words(law: SharesLaw, row: int, x: int) -> list[int]:
    """Return how many words draw each symbol: between borders nothing changes."""
    shares = [int(s) for s in np.cumsum(law.shares.row(np.full(law.belief.shape[1], x))[:, row])]
    total = int(law.total[row])
    borders = {0, *shares, *(total + int(u) for u in law.common[:, row].cumsum().tolist())}
    if isinstance(law.shares, FewShares):
        borders |= {int(w) for w in law.shares.weights[:, x, row].cumsum().tolist()}
    ordered_borders = sorted(border for border in borders if border < 2**64)
    count = [0] * len(law.belief)
    for begin, end in zip(ordered_borders, [*ordered_borders[1:], 2**64], strict=True):
        some = {draw(law, row, x, word) for word in (begin, (begin + end) // 2, end - 1)}
        assert len(some) == 1
        count[some.pop()] += end - begin
    return count


def draw(law: SharesLaw, row: int, x: int, word: int) -> int:
    rows = law.belief.shape[1]
    drawn = law.draw(np.full(rows, x), np.full(rows, word, dtype=np.uint64))
    return int(drawn[row])


def test_one_less_word_in_common_may_leak_too_much() -> None:
    """The repair gives no more than it must: U - 2 breaks the theorem's premise somewhere."""
    belief = np.array([[0.6], [0.3], [0.1]])
    law = SharesLaw.of(
        belief, Assignment.to(np.array([[0], [1], [2]])), PrivacyBound.of(1.0), np.zeros(1)
    )
    words = written(law)[:, :, 0]
    fewer = words.copy()
    fewer[:, 2] -= np.uint64(2**20)
    fewer[:, 0] += np.uint64(2**20)
    assert ExactLaw(belief[:, 0], words).excess(1.0) < 0
    assert ExactLaw(belief[:, 0], fewer).excess(1.0) > 0


@pytest.mark.parametrize("name", PROPOSALS)
def test_a_row_alone_has_the_bytes_it_has_among_others(name: str) -> None:
    rng = np.random.default_rng(3)
    belief, bound = random_beliefs(rng, 6, 5), PrivacyBound.of(2.0)
    if name in ("ordered", "points", "linear program"):
        doubts = doubt(1e-9, 6) * np.arange(1.0, 6.0)
        together = SharesLaw.of(belief, PROPOSALS[name](rng, belief, bound), bound, doubts)
        for row in range(5):
            column = np.ascontiguousarray(belief[:, [row]])
            alone = SharesLaw.of(column, PROPOSALS[name](rng, column, bound), bound, doubts[[row]])
            assert (written(alone)[:, :, 0] == written(together)[:, :, row]).all()
            assert alone.ratio.tobytes() == together.ratio[[row]].tobytes()
            assert alone.charge[0] == together.charge[row]


def test_what_nothing_is_known_about_releases_a_constant_for_free() -> None:
    belief = np.array([[0.2, 0.2], [0.8, 0.8]])
    itself = Assignment.to(np.array([[0, 0], [1, 1]]))
    law = SharesLaw.of(belief, itself, PrivacyBound.of(1.0), np.array([0.0, np.inf]))
    words = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert law.constant.tolist() == [False, True]
    assert law.charge[1] == 0
    assert law.draw(np.array([0, 0]), words)[1] == 1
    assert law.probabilities(np.array([0, 0]))[:, 1].tolist() == [0.0, 1.0]
    assert law.posterior(np.array([1, 1]))[:, 1].tolist() == belief[:, 1].tolist()
    assert law.report(np.array([1, 1]))[:, 1].tolist() == belief[:, 1].tolist()


def test_posteriors_are_bayes_rule_and_reports_have_the_mean_they_state() -> None:
    for case in cases(few_targets, 12, 2):
        law, symbols = case.law, len(case.law.belief)
        given = np.stack([law.probabilities(np.full(2, x)) for x in range(symbols)])
        reports = np.stack([law.report(np.full(2, y)) for y in range(symbols)])
        for row in range(2):
            mean = np.einsum("xy,yz->xz", given[:, :, row], reports[:, :, row])
            if not law.constant[row]:
                total = float(law.total[row])
                kept = np.stack([law.shares.row(np.full(2, x))[:, row] for x in range(symbols)])
                apart = (kept - law.expected[:, row]) / total
                spread = 1e-9 * max(1.0, 2.0**64 / total)
                assert mean == pytest.approx(law.belief[:, row] + apart, abs=spread)
            for y in np.flatnonzero(given[0, :, row] > 0.0):
                joint = law.belief[:, row] * given[:, y, row]
                shown = np.full(2, y)
                likelihood = law.likelihood(shown)[:, row]
                posterior = law.belief[:, row] * likelihood
                assert posterior / posterior.sum() == pytest.approx(joint / joint.sum(), abs=1e-13)
