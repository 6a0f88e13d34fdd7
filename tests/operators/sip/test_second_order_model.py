"""Chains of second order: what is refused, and how fast they forget."""

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseRows
from tests.operators.sip.chains import random_second_order

HALVES = np.full(2, 0.5)


def anything(rows: int) -> SparseRows:
    return SparseRows.smoothed([({}, 1.0)] * rows, 2, smoothing=0.0)


@pytest.mark.parametrize(
    ("pairs", "rows", "message"),
    [
        ([[0, 1]], 2, "transition: has 2 rows, but 2 symbols and 1 pairs need one each"),
        ([[0, 2]], 3, r"pairs: symbols are 0\.\.1"),
        ([[0, -1]], 3, r"pairs: symbols are 0\.\.1"),
        ([[0, 1], [0, 1]], 4, "pairs: every pair may be listed once"),
    ],
)
def test_a_bad_table_of_pairs_is_refused(pairs: list[list[int]], rows: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SecondOrderModel(HALVES, np.array(pairs), anything(rows))


def test_a_chain_without_pairs_is_one_of_first_order() -> None:
    rows = SparseRows.smoothed([({0: 1.0}, 0.0), ({0: 0.3}, 0.7)], 2, smoothing=0.01)
    model = SecondOrderModel(HALVES, np.zeros((0, 2), dtype=np.int64), rows)
    posterior = np.array([[0.9, 0.2], [0.1, 0.8]])
    belief = model.advance(np.tile(HALVES[:, None], 2), posterior)
    np.testing.assert_allclose(belief, (posterior.T @ rows.dense()).T, atol=1e-15)


@dataclass(frozen=True)
class Hilbert:
    """Beliefs over states, and the projective distance of each from the first."""

    beliefs: Floats

    def distances(self) -> Floats:
        reached = self.beliefs[:, 0] > 0.0
        ratios = np.log(self.beliefs[reached] / self.beliefs[reached][:, :1])
        return np.asarray(ratios.max(axis=0) - ratios.min(axis=0))


@pytest.mark.parametrize("listed", [0, 2, 5, 9])
def test_two_steps_forget_at_least_as_much_as_the_chain_says(listed: int) -> None:
    """Whatever is released in between: corrections are chosen to keep old errors alive."""
    rng = np.random.default_rng(listed)
    tightest = 0.0
    for seed in range(40):
        model = random_second_order(3, listed, seed, restarts=(0.2, 0.7)).model()
        ratio = model.forgetting_ratio
        belief = model.skip(model.skip(np.tile(model.start[:, None], 300)))
        belief = belief * np.exp(rng.normal(0.0, 3.0, belief.shape))
        before = Hilbert(belief).distances()
        correction = np.exp(rng.normal(0.0, 4.0, (3, 1)))
        after = model.advance(belief / belief.sum(axis=0), model.marginal(belief) * correction)
        after = Hilbert(model.skip(after / after.sum(axis=0))).distances()
        contraction = (after[1:] / before[1:]).max()
        assert contraction <= 1.0 - 2.0 / (ratio + 1.0) + 1e-9
        tightest = max(tightest, contraction / (1.0 - 2.0 / (ratio + 1.0)))
    assert tightest > 0.1


def test_where_no_contraction_is_known_predictions_are_counted() -> None:
    """Some rows never restart, and others lead to a pair by restarting only."""
    full = ({0: 0.5, 1: 0.5}, 0.0)
    rows = SparseRows.smoothed([full, ({1: 0.5}, 0.5), full], 2, smoothing=0.0)
    model = SecondOrderModel(HALVES, np.array([[1, 0]]), rows)
    assert model.forgetting_ratio == inf
    mechanism = ConditionalRandomizedResponse(model, epsilon=1.0)
    most = "distance of a belief in doubles from the exact one, at most"
    assert mechanism.audit()[most] is None
    assert mechanism.start(1)["predictions"].tolist() == [0]
    assert mechanism.largest_charge == 2**40
    smoothed = SparseRows.smoothed([full, ({1: 0.5}, 0.5), full], 2, smoothing=0.01)
    bounded = ConditionalRandomizedResponse(
        SecondOrderModel(HALVES, np.array([[1, 0]]), smoothed), epsilon=1.0
    )
    distance = bounded.audit()[most]
    assert isinstance(distance, float)
    assert 0.0 < distance < 1e-8
    assert "predictions" not in bounded.start(1)
