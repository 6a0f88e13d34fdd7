"""Sets of models: their ends, members, and what is refused."""

import re
from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.sip.belief_envelope import BeliefEnvelope
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_intervals import ModelIntervals, tightened
from tests.operators.sip.model_sets import corners
from tests.operators.sip.small_models import cycle, only, sticky

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
