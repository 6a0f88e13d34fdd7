"""Sequence Information Privacy of CRR by exhaustive enumeration of truths and releases."""

from math import exp, expm1

import numpy as np
import pytest

from operators.mechanism import Floats
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse
from operators.sip.release_law import Proposal, ReleaseLaw
from tests.privacy.exact_leakage import audit_sequences

ROUNDING = 1e-9


class IdentityKernelResponse(ConditionalRandomizedResponse):
    """The mode `full_support` of section 3.6: every symbol proposes itself."""

    def law(self, belief: Floats) -> ReleaseLaw:
        nothing, nobody = np.zeros_like(belief), np.zeros_like(belief, dtype=bool)
        ones = np.ones_like(belief)
        proposal = Proposal(~nobody, ones, nothing, nobody, nothing, nobody)
        return ReleaseLaw.repaired(belief, proposal, expm1(self.epsilon), exp(self.epsilon))


def binary(stays: float, first: float) -> MarkovModel:
    """Two symbols; `stays` = P(no change), `first` = P(first symbol is 1)."""
    return MarkovModel(
        np.array([1.0 - first, first]), np.array([[stays, 1.0 - stays], [1.0 - stays, stays]])
    )


def random_chain(rng: np.random.Generator, symbols: int) -> MarkovModel:
    concentration = rng.choice([0.2, 1.0, 5.0])
    transition = rng.dirichlet(np.full(symbols, concentration), symbols)
    prior = rng.dirichlet(np.full(symbols, concentration))
    return MarkovModel.smoothed(prior, transition, smoothing=float(rng.choice([1e-4, 1e-2])))


@pytest.mark.parametrize(
    ("kind", "epsilon", "worst"),
    [
        (PaperConditionalRandomizedResponse, 1.0, 4.466),
        (IdentityKernelResponse, 1.0, 4.000),
        (ConditionalRandomizedResponse, 1.0, 1.809),
        (PaperConditionalRandomizedResponse, 0.5, 2.867),
        (IdentityKernelResponse, 0.5, 2.000),
        (ConditionalRandomizedResponse, 0.5, 0.0),
    ],
)
def test_section_4_has_the_leakage_of_four_steps(
    kind: type[ConditionalRandomizedResponse], epsilon: float, worst: float
) -> None:
    """To the printed digits; 2.867 is printed for 2.86650, rounded twice."""
    audit = audit_sequences(kind(binary(stays=0.9, first=0.9), epsilon), steps=4)
    assert audit.worst == pytest.approx(worst, abs=5.1e-4)


@pytest.mark.parametrize(("symbols", "steps"), [(2, 4), (3, 4), (4, 3)])
def test_actual_leakages_add_up_to_at_least_what_every_path_leaked(
    symbols: int, steps: int
) -> None:
    rng = np.random.default_rng([symbols, steps])
    for _ in range(60):
        epsilon = float(np.exp(rng.uniform(np.log(0.05), np.log(6.0))))
        mechanism = ConditionalRandomizedResponse(random_chain(rng, symbols), epsilon)
        for length in range(1, steps + 1):
            audit = audit_sequences(mechanism, length)
            assert (audit.leaked <= audit.claimed + ROUNDING).all()
            assert (audit.claimed <= length * epsilon + ROUNDING).all()
            assert (audit.distance <= 2.0 * audit.claimed + ROUNDING).all()


def test_the_papers_mechanism_exceeds_its_budget_by_far_and_says_so() -> None:
    rng = np.random.default_rng(7)
    excesses = []
    for _ in range(60):
        epsilon = float(rng.uniform(0.2, 3.0))
        audit = audit_sequences(
            PaperConditionalRandomizedResponse(random_chain(rng, 3), epsilon), steps=4
        )
        excesses.append(audit.worst - 4 * epsilon)
        assert (audit.leaked <= audit.claimed + ROUNDING).all()
    assert max(excesses) > 5.0
    assert np.mean(np.array(excesses) > 0.0) > 0.5


@pytest.mark.parametrize(("truth", "worst"), [(0.9, 5.02), (0.99, 5.24)])
def test_section_5_has_the_leakage_under_a_wrong_model(truth: float, worst: float) -> None:
    """The model says that symbols are independent; in truth they stay."""
    mechanism = ConditionalRandomizedResponse(binary(stays=0.5, first=0.5), epsilon=1.0)
    audit = audit_sequences(mechanism, 4, adversary=binary(stays=truth, first=0.5))
    assert round(audit.worst, 2) == worst
    assert audit_sequences(mechanism, 4).worst <= 4.0 + ROUNDING


@pytest.mark.parametrize("symbols", [2, 3])
def test_no_other_prior_or_correlation_learns_more_than_twice_as_much(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for _ in range(100):
        epsilon = float(rng.uniform(0.1, 3.0))
        mechanism = ConditionalRandomizedResponse(random_chain(rng, symbols), epsilon)
        audit = audit_sequences(mechanism, 4, adversary=random_chain(rng, symbols))
        assert (audit.leaked <= 2.0 * audit.claimed + ROUNDING).all()
        assert (audit.distance <= 2.0 * audit.claimed + ROUNDING).all()
