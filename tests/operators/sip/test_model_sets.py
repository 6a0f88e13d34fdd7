"""Sets of models: their ends, members, and what is refused."""

import re
from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.model_sets import BeliefEnvelope, ModelIntervals, tightened
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF
from tests.operators.sip.model_sets import Drifting, Row, corners
from tests.operators.sip.small_models import cycle, only, sticky
from tests.privacy.chains import random_chain

MODEL = MarkovModel(np.array([0.7, 0.3]), np.array([[0.9, 0.1], [0.25, 0.75]]))


def test_a_share_is_of_each_probability_and_an_amount_is_cut_at_0_and_1() -> None:
    by_share = ModelIntervals.around(MODEL, share=0.1)
    assert by_share.first_low == pytest.approx([0.67, 0.27])
    assert by_share.high == pytest.approx(np.array([[0.91, 0.11], [0.275, 0.775]]))
    by_amount = ModelIntervals.around(MODEL, amount=0.2)
    assert by_amount.low == pytest.approx(np.array([[0.7, 0.0], [0.05, 0.55]]))
    assert by_amount.high == pytest.approx(np.array([[1.0, 0.3], [0.45, 0.95]]))


def test_what_the_others_of_a_row_leave_is_cut_off_and_no_member_with_it() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        low, high = np.sort(rng.uniform(0.0, 1.0, (2, 4)), axis=0)
        if not low.sum() <= 1.0 <= high.sum():
            continue
        tight = tightened(low[:, None], high[:, None])
        assert (low <= tight[0][:, 0]).all()
        assert (tight[1][:, 0] <= high).all()
        for corner in corners(low, high):
            ends = zip(*(end[:, 0].tolist() for end in tight), corner, strict=True)
            assert all(Fraction(a) <= exact <= Fraction(b) for a, b, exact in ends)


@pytest.mark.parametrize("model", [MODEL, sticky(), cycle(), only()])
def test_members_are_inside_and_reach_the_ends(model: MarkovModel) -> None:
    around = ModelIntervals.around(model, share=0.1)
    members = list(around.members())
    assert around.contains(model)
    slack = ModelIntervals(
        around.first_low * (1 - 1e-12),
        around.first_high * (1 + 1e-12),
        around.low * (1 - 1e-12),
        around.high * (1 + 1e-12),
    )
    assert all(slack.contains(member) for member in members)
    tight = BeliefEnvelope.between(around.low.T, around.high.T)
    follows = np.array([member.transition.T for member in members])
    assert follows.max(axis=0) == pytest.approx(tight.high, abs=1e-6)
    assert follows.min(axis=0) == pytest.approx(tight.low, abs=1e-6)


def test_a_model_whose_rows_miss_the_sum_1_by_rounding_is_a_member() -> None:
    above = np.array([[0.9 + 9e-13, 0.1], [0.25, 0.75]])
    assert ModelIntervals.around(MarkovModel(MODEL.prior, above)).contains(MODEL)
    assert ModelIntervals.around(MODEL).contains(MarkovModel(MODEL.prior, above))


def test_another_model_is_not_a_member() -> None:
    around = ModelIntervals.around(MODEL, share=0.1)
    assert not around.contains(MarkovModel(MODEL.prior, np.array([[0.8, 0.2], [0.25, 0.75]])))
    assert not around.contains(MarkovModel(np.array([0.5, 0.5]), MODEL.transition))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"share": -0.1}, "within: share must be at least 0 and below 1, not -0.1"),
        ({"amount": 1.0}, "within: amount must be at least 0 and below 1, not 1.0"),
        ({"share": float("nan")}, "within: share must be at least 0 and below 1, not nan"),
    ],
)
def test_what_is_no_width_is_refused_by_name(given: dict[str, float], reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        ModelIntervals.around(MODEL, **given)


def test_intervals_without_a_distribution_are_refused_by_row() -> None:
    low, half = np.full((2, 2), 0.1), np.full(2, 0.5)
    with pytest.raises(ValueError, match="transition row 1: no probabilities within"):
        ModelIntervals(half, half, low, np.array([[0.9, 0.9], [0.4, 0.4]]))
    with pytest.raises(ValueError, match="prior: every interval must go"):
        ModelIntervals(half, half - 0.1, low, np.full((2, 2), 0.9))


# Intervals of beliefs contain the exact belief of every member, in rational numbers.


def contains(envelope: BeliefEnvelope, belief: Row) -> bool:
    ends = zip(envelope.low[:, 0].tolist(), envelope.high[:, 0].tolist(), belief, strict=True)
    return all(Fraction(low) <= exact <= Fraction(high) for low, high, exact in ends)


def corrected(belief: Row, likelihood: Floats) -> Row:
    weighted = [b * Fraction(w) for b, w in zip(belief, likelihood.tolist(), strict=True)]
    return tuple(w / sum(weighted) for w in weighted)


def predicted(belief: Row, rows: list[Row]) -> Row:
    n = range(len(belief))
    return tuple(sum((belief[u] * rows[u][v] for u in n), Fraction(0)) for v in n)


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("symbols", [1, 2, 3, 4])
def test_no_member_leaves_the_envelope_however_its_rows_drift(symbols: int, between: bool) -> None:
    rng = np.random.default_rng([symbols, between])
    for seed in range(25):
        model = random_chain(rng, symbols)
        share, amount = rng.choice([0.0, 0.02, 0.4]), rng.choice([0.0, 1e-9, 0.05])
        around = ModelIntervals.around(model, share=float(share), amount=float(amount))
        envelope = BeliefEnvelope.between(around.first_low[:, None], around.first_high[:, None])
        member = Drifting(around, seed, between=between)
        belief = member.first()
        for _ in range(5):
            assert contains(envelope, belief)
            likelihood = np.exp(rng.uniform(0.0, rng.choice([0.1, 1.0, 12.0]), symbols)) * 2.0**40
            envelope = envelope.corrected(likelihood[:, None])
            belief = corrected(belief, likelihood)
            assert contains(envelope, belief)
            envelope, belief = envelope.predicted(around), predicted(belief, member.rows())


def test_a_symbol_that_cannot_have_led_to_the_release_is_excluded() -> None:
    """A release of `grr` before the alphabet grew: no new symbol, whose own interval may be 0."""
    envelope = BeliefEnvelope(np.array([[0.4], [0.5], [0.0]]), np.array([[0.5], [0.6], [0.1]]))
    likelihood = np.array([3.0, 1.0, 0.0])
    after = envelope.corrected(likelihood[:, None])
    assert (after.low[2, 0], after.high[2, 0]) == (0.0, 0.0)
    assert contains(after, corrected((Fraction(2, 5), Fraction(1, 2), Fraction(1, 10)), likelihood))
    certain = envelope.corrected(np.array([[0.0], [1.0], [0.0]]))
    assert certain.high[:, 0].tolist() == [0.0, 1.0, 0.0]
    assert certain.low[1, 0] > 1.0 - 1e-12


@pytest.mark.parametrize("symbols", [2, 3, 4])
def test_means_are_bounded_by_their_exact_extremes_and_hardly_more(symbols: int) -> None:
    """A mean is largest at a corner of the envelope."""
    rng = np.random.default_rng(symbols)
    for _ in range(50):
        middle = rng.dirichlet(np.full(symbols, 0.5))
        width = rng.choice([0.0, 0.01, 0.3])
        ends = np.maximum(middle - width, 0.0)[:, None], np.minimum(middle + width, 1.0)[:, None]
        envelope = BeliefEnvelope.between(*(ends[0] * (1 - 1e-15), ends[1] * (1 + 1e-15)))
        kernel = rng.integers(0, 2**60, (symbols, symbols)).astype(np.uint64)
        least, most = envelope.means(kernel[:, :, None])
        points = corners(envelope.low[:, 0], envelope.high[:, 0])
        for y in range(symbols):
            exact = [
                sum((p * int(k) for p, k in zip(point, kernel[:, y], strict=True)), Fraction(0))
                for point in points
            ]
            assert Fraction(float(least[y, 0])) <= min(exact)
            assert max(exact) <= Fraction(float(most[y, 0]))
            largest = float(kernel.max())
            assert float(min(exact)) - least[y, 0] <= 1e-12 * largest
            assert most[y, 0] - float(max(exact)) <= 1e-12 * largest


def test_one_model_alone_stays_a_point() -> None:
    model = MarkovModel(np.full(2, 0.5), np.array([[0.9, 0.1], [0.2, 0.8]]))
    alone = ModelIntervals.around(model)
    envelope = BeliefEnvelope.between(alone.first_low[:, None], alone.first_high[:, None])
    for _ in range(1000):
        envelope = envelope.corrected(np.array([[3.0], [1.0]])).predicted(alone)
    assert (envelope.high - envelope.low).max() < 1e-12


def test_a_row_alone_and_in_a_batch_has_the_same_bits() -> None:
    rng = np.random.default_rng(4)
    around = ModelIntervals.around(random_chain(rng, 3), share=0.2)
    middle = rng.dirichlet(np.ones(3), 70).T
    many = BeliefEnvelope.between(middle * 0.9, np.minimum(middle * 1.1, 1.0))
    likelihood = rng.uniform(1.0, 9.0, (3, 70))
    after = many.corrected(likelihood).predicted(around)
    for row in range(70):
        some = np.array([row])
        alone = many.columns(some).corrected(likelihood[:, some]).predicted(around)
        assert alone.low.tobytes() == after.columns(some).low.tobytes()
        assert alone.high.tobytes() == after.columns(some).high.tobytes()


@pytest.mark.parametrize(("symbols", "targets", "rows"), [(2, 2, 1), (7, 7, 5), (9, 4, 3)])
def test_extremes_are_those_of_the_greedy_sum_bit_for_bit(
    symbols: int, targets: int, rows: int
) -> None:
    """Written plainly, with `take_along_axis` and `cumsum`: laws must not change with speed."""
    rng = np.random.default_rng(symbols)
    belief = rng.dirichlet(np.ones(symbols), rows).T
    envelope = BeliefEnvelope.between(0.9 * belief, 1.1 * belief)
    kernel = np.where(rng.random((symbols, targets, rows)) < 0.3, 0.0, rng.random((symbols, 1, 1)))
    order = np.argsort(-kernel, axis=0, kind="stable")
    room = np.broadcast_to(envelope._room[:, None], kernel.shape)
    room = np.take_along_axis(room, order, axis=0)
    before = np.concatenate([np.zeros((1, targets, rows)), np.cumsum(room[:-1], axis=0)])
    shared = np.minimum(room, np.maximum(envelope._most_rest - before, 0.0))
    values = np.take_along_axis(kernel, order, axis=0)
    filled = ordered_sum(envelope.low[:, None] * kernel) + ordered_sum(shared * values)
    margin = 1.0 + (8 * symbols + 64) * UNIT_ROUNDOFF
    assert (envelope.means(kernel)[1] == filled * margin).all()
