"""Tables of planned spending: what they do, when they are adopted, and that they never change."""

from hashlib import blake2b

import numpy as np
import pytest

from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planned_release import POINTS, SILENT, plan_of
from tests.operators.sip.binary_chain import CASES
from tests.operators.sip.small_models import cycle
from tests.privacy.chains import binary

CASE_2 = CASES[2].model()


def test_a_sure_belief_is_silent_and_an_unsure_one_spends_more_than_the_mean() -> None:
    plan = plan_of(CASE_2, 1.0)
    spending = plan.epsilons[plan.choices]
    assert plan.epsilons[SILENT] == 0.0
    assert (spending[[0, -1]] == 0.0).all()
    assert spending[POINTS // 2] > 1.6
    assert plan.largest == spending.max() <= 7.0


def test_the_nearest_belief_of_the_table_decides() -> None:
    plan = plan_of(CASE_2, 1.0)
    grid = np.arange(POINTS) / (POINTS - 1)
    assert (plan.chosen(grid) == plan.choices).all()
    assert (plan.chosen(np.minimum(grid + 0.4 / (POINTS - 1), 1.0)) == plan.choices).all()


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [
        (1.0, 0.087),
        pytest.param(0.5, 0.167, marks=pytest.mark.acceptance),
        pytest.param(0.1, 0.357, marks=pytest.mark.acceptance),
        pytest.param(1.5, 0.057, marks=pytest.mark.acceptance),
    ],
)
def test_section_8_has_the_error_of_case_2_and_the_table_is_adopted(
    epsilon: float, printed: float
) -> None:
    plan = plan_of(CASE_2, epsilon)
    assert plan.error == pytest.approx(printed, abs=0.004)
    assert plan.spent <= 1.02 * epsilon
    assert plan.gains
    assert plan.constant_error > 1.15 * plan.error


@pytest.mark.parametrize(
    ("model", "epsilon"),
    [
        (binary(stays=0.5, first=0.5), 1.0),
        pytest.param(CASE_2, 2.0, marks=pytest.mark.acceptance),
        pytest.param(CASE_2, 3.0, marks=pytest.mark.acceptance),
    ],
)
def test_where_constant_spending_is_as_good_no_table_is_adopted(
    model: MarkovModel, epsilon: float
) -> None:
    assert not plan_of(model, epsilon).gains


def test_a_table_has_the_same_bits_on_every_machine() -> None:
    plan = plan_of(CASE_2, 1.0)
    content = plan.choices.astype("<i8").tobytes() + plan.epsilons.astype("<f8").tobytes()
    figures = np.array([plan.error, plan.spent, plan.constant_error, plan.constant_spent])
    digest = blake2b(content + figures.astype("<f8").tobytes(), digest_size=8).hexdigest()
    assert digest == "2fde8e808aad5cb5"


def test_other_alphabets_are_refused() -> None:
    with pytest.raises(ValueError, match="model: has 3 symbols, and spending is planned for 2"):
        plan_of(cycle(), 1.0)
