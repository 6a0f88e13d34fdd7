"""Plant faults in figures under policies, which `fugu audit` must notice."""

from dataclasses import replace

import numpy as np

from fugu.dataflows.kinds.unicorn import UnicornOperator
from fugu.dataflows.kinds.unicorn_ps import UnicornPsOperator
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.swellfish.interval_strategy import Books
from fugu.operators.swellfish.unicorn import Unicorn
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.tick import Tick
from tests.privacy.faults.planted import Replacing
from tests.privacy.faults.windows import CLASS, WithoutNoise, in_audit, planted

FAMILY = "figures under policies"


class HalvedNoise(UnicornPS):
    """Sample with twice the budget that is charged."""

    def _charged(self, tick: Tick, offer: Offer, relevant: Booleans, scale: Integers) -> Offer:
        twice = super()._charged(tick, offer, relevant, scale)
        return replace(twice, publication=2 * twice.publication)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        half = replace(charged, publication=charged.publication // 2)
        return super()._settle(state, opened, half)


class NothingIsCharged(UnicornPS):
    """Leave the ledgers of intervals as they were."""

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        free = replace(charged, publication=np.zeros_like(charged.publication))
        return super()._settle(state, opened, free)

    def _publication(self, books: Books) -> Integers:
        return np.full_like(books.ledgers.start, self.cap)


class PoliciesStay(UnicornPS):
    """Go on with the policies of the start."""

    def after_change(self, state: State, change: bytes) -> State:
        return state


class DecidesOnTheTruth(Unicorn):
    """Publish exactly where the figures have moved far enough."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, WithoutNoise(draws))


ALWAYS = Replacing(UnicornPsOperator, CLASS, in_audit("unicorn_ps"))
PLANTED = (
    planted("halved noise", UnicornPS, HalvedNoise, ALWAYS),
    planted("ignored window", UnicornPS, NothingIsCharged, ALWAYS),
    planted("stale policy", UnicornPS, PoliciesStay, ALWAYS),
    planted(
        "decision taken on truth",
        Unicorn,
        DecidesOnTheTruth,
        Replacing(UnicornOperator, CLASS, in_audit("unicorn")),
    ),
)
