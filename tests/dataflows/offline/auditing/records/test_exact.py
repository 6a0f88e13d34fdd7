"""Exact worst cases, the ledger, and the comparison with `step`, for mechanisms that are small."""

from dataclasses import replace

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds.laplace import LaplaceOperator
from fugu.dataflows.offline.auditing.records.exact import Exact, exhaustive
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.operators.budget import Budgeted
from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.mechanism import Draws, Inputs, Mechanism, Releases, State
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.markov_model import MarkovModel
from tests.conformance.kinds import KINDS
from tests.privacy.chains import binary
from tests.privacy.randomized_response import RandomizedResponse

MODEL = binary(stays=0.9, first=0.9)
ENDS = np.array([0, 9])
LEDGER = "the ledger of every path covers what it leaked"
STEP = "step draws the law that worst cases come from"


def exact(mechanism: Mechanism) -> Exact:
    found = exhaustive(Subject.of(mechanism, epsilon=1.0))
    assert found is not None
    return found


def passed(found: Exact) -> dict[str, bool]:
    return {check.about: check.passed for check in found.checks}


def leaked(found: Exact, about: str) -> list[float]:
    return [case.leaked for case in found.worst if case.about == about]


def test_the_numbers_of_the_specification_are_among_them() -> None:
    honest = exact(ConditionalRandomizedResponse(MODEL, epsilon=1.0))
    paper = exact(PaperConditionalRandomizedResponse(MODEL, epsilon=1.0))
    assert leaked(honest, "the truth")[3] == pytest.approx(1.809, abs=5e-4)
    assert leaked(paper, "the truth")[3] == pytest.approx(4.466, abs=5e-4)
    assert not any(case.broken for case in honest.worst)
    assert all(case.broken for case in paper.worst)
    assert passed(paper) == {LEDGER: True, STEP: True}


def test_claims_are_per_release_and_over_a_streams_life() -> None:
    budgeted = exact(Budgeted(RandomizedResponse(2, 1.0, 1.0), total=3.0))
    streams = [case for case in budgeted.worst if case.about == "whole streams"]
    assert [round(case.claim, 6) for case in streams] == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    assert [round(case.leaked, 6) for case in streams] == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    assert {round(case.claim, 6) for case in budgeted.worst if case.about == "one position"} == {
        1.0
    }


def test_the_alphabet_decides_for_how_many_releases_they_are_computed() -> None:
    for symbols, releases in [(1, 8), (2, 8), (3, 6), (4, 5), (10, 3), (60, 1)]:
        assert len(exact(RandomizedResponse(symbols, 1.0, 1.0)).paths) == releases
    large = exact(RandomizedResponse(100, 1.0, 1.0))
    assert len(large.paths) == 1
    assert STEP not in passed(large)
    assert exhaustive(Subject.of(RandomizedResponse(3000, 1.0, 1.0), 1.0)) is None
    assert exhaustive(Subject.of(LaplaceRelease(0, 9, 1.0), 1.0, ENDS)) is None
    assert exhaustive(Subject.of(Budgeted(LaplaceRelease(0, 9, 1.0), 2.0), 1.0, ENDS)) is None


class UnpaidResponse(ConditionalRandomizedResponse):
    """Forgets to charge for every release but the first."""

    def observe(self, state: State, released: np.ndarray) -> tuple[State, np.ndarray]:
        after, posterior = super().observe(state, released)
        unpaid = np.where(state["releases"] > 0, state["spent"], after["spent"])
        return {**after, "spent": unpaid}, posterior


class OtherResponse(ConditionalRandomizedResponse):
    """Draws from another law than it says."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return ConditionalRandomizedResponse(self.model, 2.0 * self.epsilon).step(
            state, inputs, draws
        )


def test_a_ledger_that_forgets_and_a_step_that_differs_are_noticed() -> None:
    model = binary(stays=0.6, first=0.5)
    forgets, differs = exact(UnpaidResponse(model, 1.0)), exact(OtherResponse(model, 1.0))
    assert passed(forgets) == {LEDGER: False, STEP: False}
    assert passed(differs) == {LEDGER: True, STEP: False}


class Untested(RandomizedResponse):
    def guarantees(self) -> tuple[Guarantee, ...]:
        delayed = Neighbours("stream", "tick", "delayed", reach=1)
        return tuple(replace(promise, neighbours=delayed) for promise in super().guarantees())


def test_an_operator_that_cannot_be_attacked_is_refused() -> None:
    with pytest.raises(FuguError, match="kind rr promise nothing per release of a stream"):
        Subject.of(Untested(2, 1.0, 1.0), epsilon=1.0)


def test_inputs_to_attack_with_are_as_different_as_can_be() -> None:
    skewed = MarkovModel(np.array([0.2, 0.1, 0.7]), np.full((3, 3), 1.0 / 3.0))
    crr = ConditionalRandomizedResponse(skewed, 1.0)
    assert Subject.of(crr, 1.0).inputs.tolist() == [2, 0, 1]
    laplace = LaplaceOperator.model_validate(
        {"kind": "laplace", "epsilon": 1.0, "lower": -5, "upper": 9}
    )
    inputs = laplace.audit_inputs()
    assert inputs is not None
    assert inputs.tolist() == [-5, 9]


@pytest.mark.parametrize("kind", ["adaptive_crr", "cold_start_crr", "grr"])
def test_every_kind_that_can_be_followed_is_covered_by_its_ledger(kind: str) -> None:
    found = exact(KINDS[kind].examples()[0].mechanism)
    assert passed(found) == {LEDGER: True, STEP: True}
    assert not any(case.broken for case in found.worst)
