"""Sequence Information Privacy of CRR by exhaustive enumeration of truths and releases."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences, stream_probabilities
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Integers, State
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.sip.chains import SecondOrder, random_second_order, truth_law
from tests.operators.sip.choices import KERNELS
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences
from tests.privacy.randomized_response import RandomizedResponse

FULL_SUPPORT = partial(ConditionalRandomizedResponse, mode="full_support")
HALVES, STAYS, TURNS = np.full(2, 0.5), np.array([0.95, 0.05]), np.array([0.05, 0.95])


class ForgetfulResponse(ConditionalRandomizedResponse):
    """Starts again from the prior after two releases."""

    def follow(self, state: State, released: Integers) -> State:
        after = super().follow(state, released)
        forgets = (after["releases"] == 2)[:, None]
        return {**after, "belief": np.where(forgets, self.model.prior, after["belief"])}


@pytest.mark.parametrize(
    ("kind", "epsilon", "worst"),
    [
        (PaperConditionalRandomizedResponse, 1.0, 4.466),
        (FULL_SUPPORT, 1.0, 4.000),
        (ConditionalRandomizedResponse, 1.0, 1.809),
        (PaperConditionalRandomizedResponse, 0.5, 2.867),
        (FULL_SUPPORT, 0.5, 2.000),
        (ConditionalRandomizedResponse, 0.5, 0.0),
    ],
)
def test_section_4_has_the_leakage_of_four_steps(
    kind: Callable[[MarkovModel, float], ConditionalRandomizedResponse],
    epsilon: float,
    worst: float,
) -> None:
    """To the printed digits; 2.867 is printed for 2.86650, rounded twice."""
    model = binary(stays=0.9, first=0.9)
    leaked = about_truth(all_sequences(kind(model, epsilon), 4), model)
    assert leaked.max() == pytest.approx(worst, abs=5.1e-4)


@pytest.mark.parametrize(("epsilon", "worst"), [(1.0, 3.657), (0.5, 1.748)])
def test_section_4_has_the_leakage_of_plain_randomized_response(
    epsilon: float, worst: float
) -> None:
    paths = all_sequences(RandomizedResponse(2, epsilon, epsilon), 4)
    leaked = about_truth(paths, binary(stays=0.9, first=0.9))
    assert leaked.max() == pytest.approx(worst, abs=5.1e-4)
    assert paths.about_streams().max() == pytest.approx(4 * epsilon)


@pytest.mark.parametrize(("symbols", "steps"), [(2, 4), (3, 4), (4, 3)])
def test_the_ledger_of_every_path_covers_what_it_leaked(symbols: int, steps: int) -> None:
    rng = np.random.default_rng([symbols, steps])
    for _ in range(60):
        epsilon = float(np.exp(rng.uniform(np.log(0.05), np.log(6.0))))
        mechanism = ConditionalRandomizedResponse(random_chain(rng, symbols), epsilon)
        for paths in sequences(mechanism, steps):
            leaked = about_truth(paths, mechanism.model)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.spent <= paths.steps * in_nats(mechanism.largest_charge)).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()


@pytest.mark.parametrize("name", KERNELS)
def test_so_it_does_with_every_kernel(name: str) -> None:
    rng = np.random.default_rng(9)
    for symbols, steps in [(2, 4), (3, 3), (3, 3)]:
        epsilon = float(np.exp(rng.uniform(np.log(0.3), np.log(6.0))))
        mechanism = KERNELS[name].configured(random_chain(rng, symbols), epsilon)
        for paths in sequences(mechanism, steps):
            leaked = about_truth(paths, mechanism.model)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.spent <= paths.steps * in_nats(mechanism.largest_charge)).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()


@pytest.mark.parametrize(("symbols", "listed"), [(2, 2), (2, 4), (3, 4), (3, 9)])
def test_the_ledger_of_a_second_order_chain_covers_what_every_path_leaked(
    symbols: int, listed: int
) -> None:
    rng = np.random.default_rng([symbols, listed])
    worst = 0.0
    for seed in range(25):
        epsilon = float(np.exp(rng.uniform(np.log(0.05), np.log(6.0))))
        chain = random_second_order(symbols, listed, seed)
        mechanism = ConditionalRandomizedResponse(chain.model(), epsilon)
        truths = [truth_law(chain)(truth) for truth in product(range(symbols), repeat=4)]
        paths = all_sequences(mechanism, 4)
        leaked = paths.about_truth(np.array(truths))
        assert (leaked <= paths.spent + ROUNDING).all()
        assert (paths.spent <= 4 * in_nats(mechanism.largest_charge)).all()
        assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
        np.testing.assert_allclose(stream_probabilities(mechanism.model, 4), truths, rtol=1e-12)
        worst = max(worst, float((leaked / epsilon).max()))
    assert worst > 2.0


def test_a_first_order_belief_about_a_second_order_stream_leaks_more_than_its_ledger_says() -> None:
    """Forget the second symbol, and see what it was worth."""
    chain = SecondOrder(
        prior=np.full(2, 0.5),
        rows={(0,): HALVES, (1,): HALVES}
        | {(0, 0): TURNS, (1, 0): STAYS, (0, 1): TURNS[::-1], (1, 1): STAYS[::-1]},
        restart=dict.fromkeys([(0,), (1,), (0, 0), (1, 0), (0, 1), (1, 1)], 0.001),
    )
    truths = np.array([truth_law(chain)(truth) for truth in product(range(2), repeat=4)])
    first = ConditionalRandomizedResponse(binary(stays=0.5, first=0.5), epsilon=1.0)
    wrong = all_sequences(first, 4)
    assert wrong.about_truth(truths).max() > wrong.spent.max() + 0.2
    right = all_sequences(ConditionalRandomizedResponse(chain.model(), epsilon=1.0), 4)
    assert (right.about_truth(truths) <= right.spent + ROUNDING).all()


def test_the_papers_mechanism_exceeds_its_budget_by_far_and_says_so() -> None:
    rng = np.random.default_rng(7)
    excesses = []
    for _ in range(60):
        epsilon = float(rng.uniform(0.2, 3.0))
        mechanism = PaperConditionalRandomizedResponse(random_chain(rng, 3), epsilon)
        paths = all_sequences(mechanism, 4)
        leaked = about_truth(paths, mechanism.model)
        excesses.append(float(leaked.max()) - 4 * epsilon)
        assert (leaked <= paths.spent + ROUNDING).all()
    assert max(excesses) > 5.0
    assert np.mean(np.array(excesses) > 0.0) > 0.5


def test_a_belief_that_is_not_the_posterior_shows_as_leakage() -> None:
    """Section 7: never reset the belief; its ledger still says 4."""
    model = binary(stays=0.9, first=0.5)
    paths = all_sequences(ForgetfulResponse(model, epsilon=1.0), 4)
    assert about_truth(paths, model).max() > 4.3
    assert paths.spent.max() == pytest.approx(4.0)


@pytest.mark.parametrize(("truth", "worst"), [(0.9, 5.02), (0.99, 5.24)])
def test_section_5_has_the_leakage_under_a_wrong_model(truth: float, worst: float) -> None:
    """The model says that symbols are independent; in truth they stay."""
    mechanism = ConditionalRandomizedResponse(binary(stays=0.5, first=0.5), epsilon=1.0)
    paths = all_sequences(mechanism, 4)
    leaked = about_truth(paths, binary(stays=truth, first=0.5))
    assert round(float(leaked.max()), 2) == worst
    assert about_truth(paths, mechanism.model).max() <= 4.0 + ROUNDING


@pytest.mark.parametrize("symbols", [2, 3])
def test_no_other_prior_or_correlation_learns_more_than_twice_as_much(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for _ in range(100):
        epsilon = float(rng.uniform(0.1, 3.0))
        mechanism = ConditionalRandomizedResponse(random_chain(rng, symbols), epsilon)
        paths = all_sequences(mechanism, 4)
        leaked = about_truth(paths, random_chain(rng, symbols))
        assert (leaked <= 2.0 * paths.spent + ROUNDING).all()


@pytest.mark.parametrize("symbols", [2, 3])
def test_one_position_leaks_at_most_twice_epsilon_to_anybody(symbols: int) -> None:
    """However much the releases of the positions around it say."""
    rng = np.random.default_rng([symbols, 1])
    for _ in range(40):
        mechanism = ConditionalRandomizedResponse(random_chain(rng, symbols), rng.uniform(0.1, 3.0))
        ldp = mechanism.guarantees()[1].epsilon
        paths = all_sequences(mechanism, 4)
        assert max(paths.about_one_position(k).max() for k in range(4)) <= ldp
