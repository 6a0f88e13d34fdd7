"""Later phases are reached through the whole pipeline, and what remains is claimed there."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.attacks import Effort, carried_out
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.records.family import audited_pipeline
from fugu.dataflows.offline.auditing.records.past import later_phases
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import Start
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.budget import Budgeted
from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.dataflows.offline.auditing.records.pipelines import pipeline, symbols_of
from tests.privacy.chains import binary
from tests.privacy.randomized_response import RandomizedResponse

of_two = partial(pipeline, alphabet=[0, 1], epsilon=1.0)
GRR = of_two(kind="grr")
CRR = of_two(kind="crr", model="none.json")
COLD = of_two(kind="cold_start_crr", when_short="accept")
FAIR = binary(stays=0.9, first=0.5)
NEAR = "near the end of the budget"


def later(section: Pipeline, mechanism: Mechanism) -> tuple[list[Start], list[str]]:
    subject = Subject.of(mechanism, 1.0)
    return later_phases(Start(Line(section, symbols_of(section, mechanism)), subject), steps=4)


def test_half_of_the_steps_can_still_be_paid_for_near_the_end_of_a_budget() -> None:
    [near], missed = later(GRR, Budgeted(RandomizedResponse(2, 1.0, 1.0), total=50.0))
    [claim] = near.subject.claims
    assert (near.subject.phase, near.earlier, missed) == (NEAR, 48, [])
    assert [claim.over(releases) for releases in (1, 2, 3)] == pytest.approx([1.0, 2.0, 2.0])


def test_near_the_end_a_reader_with_the_model_knows_what_came_before() -> None:
    budgeted = Budgeted(ConditionalRandomizedResponse(FAIR, 1.0), total=20.0)
    [near], _ = later(CRR, budgeted)
    assert near.subject.belief.tolist() != FAIR.start.tolist()
    found = audited_pipeline(CRR, symbols_of(CRR, budgeted), 4, [])
    phase = [case for case in found.worst if case.extent.endswith(NEAR)]
    assert phase
    assert not any(case.broken for case in found.worst)


class IgnoresItsEnd(Budgeted):
    """Goes on as if it could always pay."""

    def _allowed(self, state: object, inner: object) -> np.ndarray:
        assert isinstance(state, dict)
        return np.ones(len(state["spent"]), dtype=bool)


def test_a_budget_that_does_not_end_is_caught_there_and_not_before() -> None:
    faulty = IgnoresItsEnd(RandomizedResponse(2, 1.0, 1.0), total=50.0)
    found = audited_pipeline(GRR, symbols_of(GRR, faulty), 4, [])
    assert {case.extent.endswith(NEAR) for case in found.worst if case.broken} == {True}
    findings = carried_out(found.attacks, Effort(10_000, 99.9, 0), lambda runs: None)
    assert {one.attack.name for one in findings if one.broken} == {f"whole streams {NEAR}"}


def test_a_budget_of_more_records_than_are_fed_is_said_not_to_be_reached() -> None:
    phases, missed = later(GRR, Budgeted(RandomizedResponse(2, 1.0, 1.0), total=1e6))
    assert phases == []
    assert missed == ["the end of the budget: 131,072 records do not use it up"]


def test_a_stream_learns_its_model_and_is_attacked_relative_to_it() -> None:
    cold = ColdStart(2, 1.0, positions=50, when_short="accept")
    [learned], missed = later(COLD, cold)
    subject = learned.subject
    assert (learned.earlier, missed) == (50, [])
    assert {claim.notion for claim in subject.claims} == {"sip", "ldp"}
    assert subject.start is not None
    assert subject.start["begun"].tolist() == [50]
    found = audited_pipeline(COLD, symbols_of(COLD, cold), 2, [])
    reached = [case for case in found.worst if case.notion == "sip"]
    assert [case.extent for case in reached[:2]] == [
        "1 release after a model is learned",
        "2 releases after a model is learned",
    ]
    assert not any(case.broken for case in found.worst)


def test_a_model_that_takes_too_many_records_is_said_not_to_be_reached() -> None:
    phases, missed = later(COLD, ColdStart(2, 1.0, positions=2**18, when_short="accept"))
    assert phases == []
    assert len(missed) == 1
    assert missed[0].startswith("releases after a model is learned, which takes 262,144 records")


class ClaimsPresence(RandomizedResponse):
    """Claims that nobody notices whether there is a record."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        presence = Neighbours("stream", "symbol", "presence", kept=())
        return tuple(replace(one, neighbours=presence) for one in super().guarantees())


def test_who_claims_that_presence_is_hidden_is_attacked_as_written() -> None:
    presence = symbols_of(GRR, ClaimsPresence(2, 1.0, 1.0))
    found = audited_pipeline(GRR, presence, 1, [])
    [attack] = found.attacks
    assert attack.name == "with the last release and without"
    [finding] = carried_out([attack], Effort(2_000, 99.9, 0), lambda runs: None)
    assert finding.broken
