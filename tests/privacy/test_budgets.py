"""Budgets by exhaustive enumeration: on every path, what leaked was paid for, and no more."""

from typing import get_args

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.budget import Budgeted, WhenExhausted
from fugu.operators.budget_units import in_nats
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

BILLIONTH_MORE = 1 + 2e-9


@pytest.mark.parametrize("when_exhausted", get_args(WhenExhausted))
@pytest.mark.parametrize("symbols", [2, 3])
def test_no_path_leaks_more_than_it_spent_or_spends_more_than_the_total(
    symbols: int, when_exhausted: WhenExhausted
) -> None:
    rng = np.random.default_rng([symbols, 1])
    some_paths_ended = 0
    for _ in range(15):
        crr = ConditionalRandomizedResponse(random_chain(rng, symbols), float(rng.uniform(0.5, 3)))
        total = float(rng.uniform(1.0, 2.5)) * crr.epsilon
        budgeted = Budgeted(crr, total, when_exhausted=when_exhausted)
        for paths in sequences(budgeted, 5):
            assert (about_truth(paths, crr.model) <= paths.spent + ROUNDING).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            assert paths.spent.max() <= total * BILLIONTH_MORE
            ended = budgeted.exhausted(paths.state)
            some_paths_ended += 0 < ended.sum() < len(ended)
    assert some_paths_ended


@pytest.mark.parametrize("window", [1, 2, 3])
def test_with_a_window_the_ledger_of_every_path_still_covers_everything(window: int) -> None:
    rng = np.random.default_rng(window)
    for _ in range(15):
        crr = ConditionalRandomizedResponse(random_chain(rng, 2), float(rng.uniform(0.1, 3.0)))
        budgeted = Budgeted(crr, total=1.5 * crr.epsilon, window=window)
        for paths in sequences(budgeted, 6):
            assert (about_truth(paths, crr.model) <= paths.spent + ROUNDING).all()
            windows = -(-paths.steps // window)
            assert paths.spent.max() <= windows * 1.5 * crr.epsilon * BILLIONTH_MORE


def test_what_is_published_after_the_end_tells_nothing() -> None:
    crr = ConditionalRandomizedResponse(binary(stays=0.9, first=0.5), epsilon=1.0)
    *_, third, fourth, fifth = sequences(Budgeted(crr, total=2.0), 5)
    assert third.spent.max() == fifth.spent.max() <= 2.0 * BILLIONTH_MORE
    for later in (fourth, fifth):
        assert about_truth(later, crr.model).max() == pytest.approx(
            about_truth(third, crr.model).max(), abs=ROUNDING
        )
        assert later.about_one_position(later.steps - 1).max() == 0.0


def test_a_budget_bounds_even_what_the_papers_mechanism_leaks() -> None:
    """Its ledger is honest; without a budget it leaks 4.466 where 4 are claimed."""
    model = binary(stays=0.9, first=0.9)
    paper = PaperConditionalRandomizedResponse(model, epsilon=1.0)
    paths = all_sequences(Budgeted(paper, total=4.0), 4)
    assert about_truth(all_sequences(paper, 4), model).max() > 4.4
    assert about_truth(paths, model).max() <= 4.0 * BILLIONTH_MORE
    assert in_nats(int(paths.state["spent"].max())) > 3.0
