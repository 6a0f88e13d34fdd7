"""The loss that a promise states as a function says what its epsilon and delta say."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import cast

import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.composed_loss import ComposedLoss
from fugu.operators.composition.spend import Spend
from fugu.operators.guarantee import GaussianLoss, Guarantee, RepeatedLoss
from fugu.operators.mechanism import ChargingMechanism
from fugu.operators.single_stream import released
from fugu.operators.wevent.allocation import Cap
from fugu.operators.wevent.spread_strategies import Uniform
from tests.conformance.kinds import KINDS


def promises() -> Iterator[Guarantee]:
    """Those of every kind that bound something, alone and under a budget of a stream."""
    for kind in KINDS.values():
        for example in kind.examples():
            mechanism = example.mechanism
            yield from mechanism.guarantees()
            if hasattr(mechanism, "largest_charge") and mechanism.guarantees()[0].sound:
                yield from Budgeted(cast(ChargingMechanism, mechanism), total=60.0).guarantees()


STATED = [
    one for one in promises() if one.sound and one.total_delta < 1.0 and one.notion != "anonymity"
]


def loss_of(guarantee: Guarantee) -> ComposedLoss:
    """As it is composed, but for finite precision, which is bounded less tightly there."""
    loss = guarantee.known_loss
    if isinstance(loss, GaussianLoss):
        guarantee = replace(guarantee, loss=replace(loss, draws=0))
    return Spend.of(guarantee).loss


def test_no_loss_is_larger_than_what_is_stated() -> None:
    for guarantee in STATED:
        delta = loss_of(guarantee).delta(units_of(guarantee.epsilon))
        assert delta <= Fraction(guarantee.total_delta * (1.0 + 1e-6))


def test_no_loss_is_much_smaller_than_what_is_stated() -> None:
    """A loss of one release must not be that of a stream: budgets and windows drop it."""
    for guarantee in STATED:
        loss = loss_of(guarantee)
        if isinstance(guarantee.known_loss, GaussianLoss):
            least = loss.epsilon(Fraction(guarantee.delta))
            assert least is not None
            assert 0.8 * guarantee.epsilon < in_nats(least) <= guarantee.epsilon * (1 + 1e-6)
        elif not isinstance(guarantee.known_loss, RepeatedLoss):
            assert guarantee.known_loss.epsilon == pytest.approx(guarantee.epsilon, rel=1e-5)


@pytest.mark.parametrize("cap", [None, Cap(decision=2**36, publication=2**36)])
def test_every_tick_of_uniform_spends_what_its_loss_says(cap: Cap | None) -> None:
    uniform = Uniform(3, 8, 1.0, 2, cap)
    loss = uniform.guarantees()[0].loss
    assert isinstance(loss, RepeatedLoss)
    assert loss.number == uniform.window
    for release in released(uniform, [[1, 2, 3]] * 20):
        assert release.annotations["publication_epsilon"].tolist() == [loss.each]
        assert release.annotations["decision_epsilon"].tolist() == [0.0]
