"""Batches count as releases: their claims, their worst cases, and what is drained of them."""

from functools import cached_property

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.attacks import Effort, carried_out
from fugu.dataflows.offline.auditing.records.family import audited_pipeline
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.budget import Budgeted
from fugu.operators.sip.batches.batch_plan import BatchPlans
from fugu.operators.sip.batches.batched_release import BatchedRelease
from tests.dataflows.offline.auditing.records.pipelines import pipeline, symbols_of
from tests.privacy.chains import binary

FAIR = binary(stays=0.9, first=0.5)
WINDOW, EPSILON = 2, 1.5


class ThreeTimes(BatchedRelease):
    """Leaks three times what it claims."""

    @cached_property
    def _plans(self) -> BatchPlans:
        return BatchPlans(self._walk, self.window, 3 * EPSILON, self.distance, self.kernel)


def section() -> Pipeline:
    return pipeline(
        kind="batched_crr",
        alphabet=[0, 1],
        window=WINDOW,
        epsilon_per_batch=EPSILON,
        model="none.json",
    )


def test_one_batch_of_an_operator_that_leaks_three_times_as_much_is_caught() -> None:
    faulty = symbols_of(section(), ThreeTimes(FAIR, WINDOW, EPSILON))
    found = audited_pipeline(section(), faulty, 1, [])
    first = found.attacks[0]
    assert (first.name, first.claim) == ("release 1", EPSILON)
    [finding] = carried_out([first], Effort(20_000, 99.9, 0), lambda runs: None)
    assert finding.broken
    assert finding.bound > 2.0
    [worst] = [case for case in found.worst if (case.notion, case.extent) == ("sip", "1 release")]
    assert worst.leaked == pytest.approx(3 * EPSILON, abs=0.5)
    assert worst.broken


def test_claims_count_batches_and_every_batch_of_two_symbols_is_followed() -> None:
    honest = symbols_of(section(), BatchedRelease(FAIR, WINDOW, EPSILON))
    found = audited_pipeline(section(), honest, 3, [])
    claims = {(attack.notion, attack.name): attack.claim for attack in found.attacks}
    assert claims["sip", "releases 1 to 3"] == 3 * EPSILON
    assert claims["ldp", "batch 2 of 3"] == 2 * EPSILON
    assert claims["ldp", "whole streams"] == 6 * EPSILON
    sip = [case.leaked for case in found.worst if case.notion == "sip"]
    assert sip[:3] == pytest.approx([1.5, 3.0, 4.5], abs=0.05)
    assert all(attack.exact is not None for attack in found.attacks)
    assert all(check.passed for check in found.checks)
    assert not any(case.broken for case in found.worst)


def test_what_is_drained_is_attacked_with_its_exact_loss() -> None:
    honest = symbols_of(section(), BatchedRelease(FAIR, WINDOW, EPSILON))
    found = audited_pipeline(section(), honest, 1, [])
    drained = [one for one in found.attacks if one.name.endswith("of a last batch of length 1")]
    assert [attack.notion for attack in drained] == ["sip", "ldp"]
    seen = drained[1].one.seen(1_000, (0, 0), lambda runs: None)
    assert not np.isnan(seen.reshape(1_000, 2, -1)[:, 1]).all()
    for finding in carried_out(drained, Effort(4_000, 99.9, 0), lambda runs: None):
        assert finding.exact is not None
        assert 0.3 * finding.exact < finding.bound <= finding.exact


def test_batches_under_a_budget_are_followed_to_its_end() -> None:
    budgeted = symbols_of(section(), Budgeted(BatchedRelease(FAIR, WINDOW, EPSILON), 2 * EPSILON))
    found = audited_pipeline(section(), budgeted, 3, [])
    whole = [case for case in found.worst if case.about == "whole streams"]
    assert whole[2].extent == "3 releases"
    assert whole[2].claim == pytest.approx(4 * EPSILON)
    assert whole[2].leaked == pytest.approx(whole[1].leaked)
    assert not any(case.broken for case in found.worst)
    assert all(check.passed for check in found.checks)
