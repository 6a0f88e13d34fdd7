"""Integer laws of proposals that stay or fill: all words counted, against the exact claim."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.budget_units import exact_exp, exact_expm1
from fugu.operators.mechanism import Floats, Words
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.privacy_bound import PrivacyBound, doubt
from fugu.operators.sip.proposals import IdentityKernel, StayOrFill
from tests.operators.sip.beliefs import random_beliefs, zipf
from tests.operators.sip.exact_leakage import ExactLaw
from tests.operators.sip.test_release_law import random_proposals

DISTANCES = (0.0, 1e-13, 1e-9, 1e-3, 0.05)
Propose = Callable[[np.random.Generator, Floats, float], StayOrFill]


def optimal(_: np.random.Generator, belief: Floats, epsilon: float) -> StayOrFill:
    return HammingKernel(exact_expm1(epsilon), exact_exp(epsilon)).propose(belief)


def full_support(_: np.random.Generator, belief: Floats, epsilon: float) -> StayOrFill:
    return IdentityKernel().propose(belief)


def arbitrary(rng: np.random.Generator, belief: Floats, _: float) -> StayOrFill:
    """Every symbol that stays does so wholly, but for one of them at most."""
    proposal = random_proposals(rng, *belief.shape)
    own = np.where(proposal.partial, proposal.own, np.where(proposal.own == 1.0, 1.0, 0.0))
    return StayOrFill(
        proposal.support,
        own,
        proposal.fill,
        proposal.partial & (own < 1.0),
        np.where(proposal.partial.any(axis=0), proposal.partial_fill, 0.0),
        proposal.constant,
    )


PROPOSALS: dict[str, Propose] = {
    "optimal": optimal,
    "full_support": full_support,
    "arbitrary": arbitrary,
}


def law_at(belief: Floats, epsilon: float, propose: Propose, distance: float = 0.0) -> IntegerLaw:
    """The law of each column."""
    bound, (symbols, rows) = PrivacyBound.of(epsilon), belief.shape
    proposal = propose(np.random.default_rng(symbols), belief, epsilon)
    doubts = np.full(rows, doubt(distance, symbols))
    return IntegerLaw.of(belief, proposal, bound, bound.reserve(symbols), doubts)


def written(law: IntegerLaw) -> Words:
    """W(y|x) as `[x, y, row]`."""
    symbols, rows = law.belief.shape
    return np.stack([law.weights(np.full(rows, x)) for x in range(symbols)])


@dataclass(frozen=True)
class Case:
    """Laws at several beliefs, at the same distance from the exact ones."""

    epsilon: float
    distance: float
    law: IntegerLaw

    def exact(self, row: int) -> ExactLaw:
        return ExactLaw(self.law.belief[:, row], written(self.law)[:, :, row], self.distance)

    @property
    def rows(self) -> list[int]:
        return np.flatnonzero(self.law.constant < 0).tolist()


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
        distance = DISTANCES[number % len(DISTANCES)]
        yield Case(epsilon, distance, law_at(belief, epsilon, propose, distance))


def check(propose: Propose, count: int, rows: int, seed: int = 18) -> int:
    """All words of every law, in rational numbers; how many laws there were."""
    laws, worst = 0, Decimal(-100)
    for case in cases(propose, count, rows, seed):
        assert (case.law.charge <= case.law.bound.charge).all()
        for row in case.rows:
            law = case.exact(row)
            assert law.rows_are_complete
            assert law.forgets_nothing
            worst = max(worst, law.excess(case.epsilon), law.unpaid(int(case.law.charge[row])))
            worst = max(worst, law.local_excess(case.epsilon))
            laws += 1
    assert worst < 0, worst
    return laws


@pytest.mark.parametrize("name", PROPOSALS)
def test_no_law_leaks_more_than_epsilon_for_any_belief_within_its_distance(name: str) -> None:
    assert check(PROPOSALS[name], 60, 4) > 100


@pytest.mark.acceptance
@pytest.mark.parametrize("name", PROPOSALS)
def test_no_law_of_thousands_leaks_more_than_epsilon(name: str) -> None:
    assert check(PROPOSALS[name], 1_500, 4, seed=9) > 3_000


SPECIFIED = [
    ((0.9, 0.1), 1.0, full_support, 0, [14432823495328782336, 4013920578380769280]),
    (
        (0.5, 0.3, 0.15, 0.05),
        1.0,
        optimal,
        0,
        [13756379646825666304, 1860410089062292736, 2829954337821592576, 0],
    ),
    ((0.2,) * 5, 36.0, optimal, 4, [90780, 857, 857, 857, 18446744073709458265]),
]


@pytest.mark.parametrize(("belief", "epsilon", "propose", "truth", "weights"), SPECIFIED)
def test_weights_are_those_of_the_specification(
    belief: tuple[float, ...], epsilon: float, propose: Propose, truth: int, weights: list[int]
) -> None:
    law = law_at(np.array(belief)[:, None], epsilon, propose, distance=1e-12)
    assert law.weights(np.array([truth]))[:, 0].tolist() == weights
    if epsilon == 1.0 and propose is full_support:
        assert law.total.tolist() == [9471729924487499776]
    if epsilon == 1.0 and propose is optimal:
        assert law.total.tolist() == [10655696165047943168]


@pytest.mark.parametrize("epsilon", [36.0, 50.0])
def test_every_entry_can_be_drawn_where_doubles_missed_14_of_25(epsilon: float) -> None:
    """n = 5: the words of each entry are counted from the draw, and none has none."""
    law = law_at(np.full((5, 1), 0.2), epsilon, optimal, distance=1e-12)
    for x in range(5):
        counted = drawn_words(law, 0, x)
        assert counted == law.weights(np.array([x]))[:, 0].tolist()
        assert min(counted) > 0
        assert sum(counted) == 2**64
    assert Case(epsilon, 1e-12, law).exact(0).excess(epsilon) < 0


@pytest.mark.parametrize("name", PROPOSALS)
def test_exactly_its_words_draw_a_symbol(name: str) -> None:
    """Both sides of every border: the draw changes there and nowhere else."""
    for case in cases(PROPOSALS[name], 10, 2):
        for row in case.rows:
            words = written(case.law)[:, :, row]
            for x in range(len(words)):
                assert drawn_words(case.law, row, x) == [int(w) for w in words[x]]


def drawn_words(law: IntegerLaw, row: int, x: int) -> list[int]:
    """Return how many words draw each symbol: between borders nothing changes."""
    own, total = int(law.own[x, row]), int(law.total[row])
    borders = {0, own, total}
    for moved in (law.fill, law.partial):
        borders |= {own + int(w) for w in np.cumsum(moved[:, row]).tolist()}
    borders |= {total + int(w) for w in np.cumsum(law.repair[:, row]).tolist()}
    ordered_borders = sorted(border for border in borders if border < 2**64)
    count = [0] * len(law.belief)
    for begin, end in zip(ordered_borders, [*ordered_borders[1:], 2**64], strict=True):
        some = {drawn(law, row, x, word) for word in (begin, (begin + end) // 2, end - 1)}
        assert len(some) == 1
        count[some.pop()] += end - begin
    return count


def drawn(law: IntegerLaw, row: int, x: int, word: int) -> int:
    rows = law.belief.shape[1]
    return int(law.draw(np.full(rows, x), np.full(rows, word, dtype=np.uint64))[row])


def test_the_last_words_lost_make_a_law_leak_too_much() -> None:
    """The repair gives hardly more than it must: fewer words break the promise."""
    belief = np.array([[0.6], [0.3], [0.1]])
    words = written(law_at(belief, 1.0, full_support))[:, :, 0]
    fewer = words.copy()
    fewer[:, 2] -= np.uint64(2**20)
    fewer[:, 0] += np.uint64(2**20)
    assert ExactLaw(belief[:, 0], words).excess(1.0) < 0
    assert ExactLaw(belief[:, 0], fewer).excess(1.0) > 0


@pytest.mark.parametrize("name", ["optimal", "full_support"])
def test_a_row_alone_has_the_bytes_it_has_among_others(name: str) -> None:
    rng, propose = np.random.default_rng(3), PROPOSALS[name]
    for epsilon in (0.01, 1.0, 4.0, 50.0):
        belief, bound = random_beliefs(rng, 6, 9), PrivacyBound.of(epsilon)
        doubts = doubt(1e-9, 6) * np.arange(1.0, 10.0)
        given = bound, bound.reserve(6)
        together = IntegerLaw.of(belief, propose(rng, belief, epsilon), *given, doubts)
        for row in range(9):
            column = np.ascontiguousarray(belief[:, [row]])
            alone = IntegerLaw.of(column, propose(rng, column, epsilon), *given, doubts[[row]])
            assert (written(alone)[:, :, 0] == written(together)[:, :, row]).all()
            assert alone.ratio.tobytes() == together.ratio[[row]].tobytes()
            assert alone.charge[0] == together.charge[row]


@pytest.mark.parametrize(("symbols", "epsilon"), [(5_000, 8.0), (10_000, 1e-3), (10_000, 40.0)])
@pytest.mark.parametrize("propose", [optimal, full_support])
def test_large_alphabets_have_pure_laws_too(symbols: int, epsilon: float, propose: Propose) -> None:
    """By the theorem's premise in whole numbers: U (E - 1) >= max V - E v, and v - E min V."""
    belief = zipf(symbols)[:, None]
    law, bound = law_at(belief, epsilon, propose, distance=1e-13), PrivacyBound.of(epsilon)
    growth, gain = Fraction(bound.growth), Fraction(bound.growth) - 1
    if law.constant[0] >= 0:
        assert law.charge[0] == 0
        return
    shares = [Fraction(share) for share in belief[:, 0].tolist()]
    total = sum(shares)
    stays = law.proposal.own[:, 0] == 1.0
    partial = law.proposal.partial[:, 0]
    moving = sum((s for s, f in zip(shares, ~stays & ~partial, strict=True) if f), Fraction(0))
    partly = sum((s for s, p in zip(shares, partial, strict=True) if p), Fraction(0))
    columns = (law.own, law.fill, law.partial, law.repair)
    own, fill, part, repair = ([int(w) for w in column[:, 0]] for column in columns)
    assert int(law.total[0]) + sum(repair) == 2**64
    for y in np.flatnonzero(law.proposal.support[:, 0]).tolist():
        assert repair[y] >= 1
        mean = (shares[y] * own[y] + moving * fill[y] + partly * part[y]) / total
        most = max(own[y] + (part[y] if partial[y] else 0), fill[y], part[y])
        assert repair[y] * gain >= most - growth * mean * (1 - Fraction(1, 10**13))
        assert repair[y] * gain >= mean * (1 + Fraction(1, 10**13))


def test_what_nothing_is_known_about_releases_a_constant_for_free() -> None:
    belief = np.array([[0.2, 0.2], [0.8, 0.8]])
    bound = PrivacyBound.of(1.0)
    proposal, doubts = IdentityKernel().propose(belief), np.array([0.0, np.inf])
    law = IntegerLaw.of(belief, proposal, bound, bound.reserve(2), doubts)
    words = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert law.constant.tolist() == [-1, 1]
    assert law.charge[1] == 0
    assert law.draw(np.array([0, 0]), words)[1] == 1
    assert law.probabilities(np.array([0, 0]))[:, 1].tolist() == [0.0, 1.0]
    assert law.posterior(np.array([1, 1]))[:, 1].tolist() == belief[:, 1].tolist()
    assert law.report(np.array([1, 1]))[:, 1].tolist() == belief[:, 1].tolist()


def test_the_printed_leakage_is_that_of_the_law() -> None:
    """In doubles, but for the belief as it stands, and never what is charged."""
    for case in cases(optimal, 40, 2):
        for row in case.rows:
            exact = ExactLaw(case.law.belief[:, row], case.exact(row).words).leakage_ratio
            assert case.law.leakage[row] == pytest.approx(float(np.log(float(exact))), abs=1e-9)
