"""Planned spending, by exhaustive enumeration of truths and releases."""

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.budget import Budgeted
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planned_release import PlannedRelease
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

MODELS = [
    binary(stays=0.9, first=0.9),
    binary(stays=0.97, first=0.5),
    binary(stays=0.15, first=0.3),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_the_ledger_of_every_path_covers_what_it_leaked(model: MarkovModel) -> None:
    planned = PlannedRelease(model, 0.5)
    assert planned.plan is not None
    worst = 0.0
    for paths in sequences(planned, 7):
        leaked = about_truth(paths, model)
        assert (leaked <= paths.spent + ROUNDING).all()
        assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
        worst = max(worst, float(leaked.max()))
    assert worst > planned.most


def test_so_does_that_of_a_budget_which_refuses_what_does_not_fit() -> None:
    model = MODELS[0]
    planned = PlannedRelease(model, 1.0)
    budgeted = Budgeted(planned, total=3.0, when_exhausted="constant")
    paths = all_sequences(budgeted, 7)
    leaked = about_truth(paths, model)
    assert (leaked <= paths.spent + ROUNDING).all()
    assert leaked.max() <= 3.0 + ROUNDING
    assert paths.spent.max() > 3.0 - planned.most


def test_no_other_prior_or_correlation_learns_more_than_twice_as_much() -> None:
    rng = np.random.default_rng(28)
    paths = all_sequences(PlannedRelease(MODELS[0], 1.0), 6)
    for _ in range(30):
        assert (about_truth(paths, random_chain(rng, 2)) <= 2.0 * paths.spent + ROUNDING).all()


def test_a_path_may_spend_more_than_the_mean_and_the_claim_says_how_much() -> None:
    """The mean is one under the model: what bounds a stream is its ledger, not the mean."""
    planned = PlannedRelease(MODELS[0], 1.0)
    paths = all_sequences(planned, 7)
    assert paths.spent.max() > 7.0 * planned.epsilon
    assert paths.spent.max() <= 7.0 * planned.guarantees()[0].epsilon
