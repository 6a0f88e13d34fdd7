"""Two pipelines over one stream, by exhaustive enumeration: what adds up, and what does not.

Each draws independently and keeps a belief from its own releases, as two pipelines do; a reader of
both topics knows all releases.
"""

from math import exp, log

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.composition.spend import NotAddable, Spend
from fugu.operators.composition.sums import add
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences, together


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_two_releases_of_one_fair_bit_leak_more_than_their_sip_figures_say(epsilon: float) -> None:
    """One record, two topics: ln(1 + 2 e^(2 eps) - 2 e^eps) nats, and not 2 epsilon."""
    fair = binary(stays=0.5, first=0.5)
    mechanism = ConditionalRandomizedResponse(fair, epsilon)
    paths = all_sequences(mechanism, 1)
    leaked = about_truth(together(paths, paths), fair).max()
    assert leaked == pytest.approx(log(1.0 + 2.0 * exp(2.0 * epsilon) - 2.0 * exp(epsilon)))
    assert leaked > 2.0 * epsilon + ROUNDING


@pytest.mark.parametrize(("steps", "worst"), [(1, 2.336), (2, 4.706), (3, 7.055), (4, 9.446)])
def test_two_pipelines_leak_more_than_the_sum_of_their_sip_figures(
    steps: int, worst: float
) -> None:
    """A bit that stays with 0.7, 1 nat per release and pipeline, under one and the same model."""
    chain = binary(stays=0.7, first=0.5)
    mechanism = ConditionalRandomizedResponse(chain, epsilon=1.0)
    paths = all_sequences(mechanism, steps)
    both = together(paths, paths)
    leaked = about_truth(both, chain).max()
    assert leaked == pytest.approx(worst, abs=5.1e-4)
    assert leaked > both.spent.max() + 0.3 * steps
    assert about_truth(paths, chain).max() <= steps + ROUNDING
    sip, _ = mechanism.guarantees()
    with pytest.raises(NotAddable):
        add([Spend.of(sip), Spend.of(sip)])


@pytest.mark.parametrize(("symbols", "steps"), [(2, 4), (3, 2)])
def test_figures_without_a_model_add_up_for_every_reader(symbols: int, steps: int) -> None:
    """Models, epsilons and the reader's own belief differ at will."""
    rng = np.random.default_rng([symbols, steps])
    for _ in range(30):
        first, second = (
            ConditionalRandomizedResponse(random_chain(rng, symbols), float(rng.uniform(0.1, 3.0)))
            for _ in range(2)
        )
        spends = [Spend.of(mechanism.guarantees()[1]) for mechanism in (first, second)]
        total = steps * in_nats(add(spends).epsilon)
        both = together(all_sequences(first, steps), all_sequences(second, steps))
        assert (both.about_streams() <= 2.0 * both.spent + ROUNDING).all()
        assert both.about_streams().max() <= total + ROUNDING
        assert about_truth(both, random_chain(rng, symbols)).max() <= total + ROUNDING


@pytest.mark.parametrize(("symbols", "steps"), [(2, 4), (3, 2)])
def test_under_one_model_one_of_two_pipelines_may_be_counted_with_its_sip_figure(
    symbols: int, steps: int
) -> None:
    """The other one counts with its figure without a model; and the sum of both is exceeded."""
    rng = np.random.default_rng([7, symbols, steps])
    excesses = []
    for _ in range(30):
        model = random_chain(rng, symbols)
        first, second = (
            ConditionalRandomizedResponse(model, float(rng.uniform(0.1, 3.0))) for _ in range(2)
        )
        both = together(all_sequences(first, steps), all_sequences(second, steps))
        leaked = about_truth(both, model).max()
        (sip, ldp), (other_sip, other_ldp) = first.guarantees(), second.guarantees()
        mixed = min(sip.epsilon + other_ldp.epsilon, ldp.epsilon + other_sip.epsilon)
        assert leaked <= steps * mixed + ROUNDING
        excesses.append(leaked - steps * (sip.epsilon + other_sip.epsilon))
    assert max(excesses) > 1.0
