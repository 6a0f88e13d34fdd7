"""From GRR to CRR under a pooled model: leakages of both add up, by exhaustive enumeration."""

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.after_responses import after_responses
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.kernels import Mode
from tests.operators.sip.chains import random_second_order
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

EARLY, LATE = 2, 2


class TwoVersions(ConditionalRandomizedResponse):
    """The first releases of a stream by GRR, and then what `after_responses` makes of them."""

    def start(self, rows: int) -> State:
        early = np.zeros((rows, EARLY), dtype=np.int64)
        return {**super().start(rows), "early": early, "made": np.zeros(rows, dtype=np.int64)}

    def release_law(self, state: State) -> Floats:
        if state["made"][0] < EARLY:
            return self.grr.release_law(state)
        return super().release_law(state)

    def follow(self, state: State, released: Integers) -> State:
        made = state["made"] + 1
        if made[0] > EARLY:
            return {**super().follow(state, released), "early": state["early"], "made": made}
        early = np.concatenate([state["early"][:, 1:], released[:, None]], axis=1)
        after = self.begun(early) if made[0] == EARLY else self.grr.follow(state, released)
        return {**super().start(len(released)), **after, "early": early, "made": made}

    def begun(self, early: Integers) -> State:
        """The state of the next version."""
        return after_responses(self, self.grr, list(early))

    @property
    def grr(self) -> GeneralizedRandomizedResponse:
        return GeneralizedRandomizedResponse(self.model.symbols, self.epsilon)


class Forgetful(TwoVersions):
    """Begins the next version with the prior, as if nobody had read what was released before."""

    def begun(self, early: Integers) -> State:
        fresh = ConditionalRandomizedResponse.start(self, len(early))
        return {**fresh, "spent": super().begun(early)["spent"]}


@pytest.mark.parametrize("mode", ["optimal", "full_support"])
def test_the_ledger_of_every_path_covers_what_both_versions_leaked(mode: Mode) -> None:
    rng = np.random.default_rng(4)
    models: list[Chain] = [random_chain(rng, symbols) for symbols in (2, 2, 3) for _ in range(4)]
    models += [random_second_order(2, 2, seed).model() for seed in range(3)]
    for model in models:
        for epsilon in (0.4, 1.5):
            mechanism = TwoVersions(model, epsilon, mode=mode)
            paths = all_sequences(mechanism, EARLY + LATE)
            assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()
            most = EARLY * mechanism.grr.largest_charge + LATE * mechanism.largest_charge
            assert paths.spent.max() <= in_nats(most)
            assert paths.about_streams().max() <= (EARLY + 2 * LATE) * epsilon + ROUNDING


def test_a_next_version_that_begins_with_the_prior_leaks_more_than_its_ledger_says() -> None:
    model = binary(stays=0.9, first=0.95)
    paths = all_sequences(Forgetful(model, 2.0), EARLY + LATE)
    assert (about_truth(paths, model) - paths.spent).max() == pytest.approx(0.129, abs=0.001)
