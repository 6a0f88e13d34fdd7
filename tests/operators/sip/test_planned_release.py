"""Planned release: configuration, charges, laws by the table, the sampler, and its error."""

import re
from typing import Any

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.mechanism import Inputs
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Ordered
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.planned_release import PlannedRelease
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.chosen_draws import simulated
from tests.operators.sip.binary_chain import CASES, measure
from tests.operators.sip.small_models import sparse
from tests.privacy.chains import binary

CASE_2 = CASES[2].model()
PLANNED = PlannedRelease(CASE_2, 1.0)


def examples(kind: type[PlannedRelease]) -> tuple[Example, ...]:
    planned, plain = kind(CASE_2, 1.0), kind(binary(stays=0.5, first=0.5), 1.0)
    in_time = kind(CASE_2, 0.5, gaps=Gaps(step_milliseconds=60_000, longest=5))
    made: list[PlannedRelease | Budgeted] = [
        planned,
        Budgeted(planned, total=4.0),
        plain,
        in_time,
        Budgeted(planned, total=2.5, window=4),
    ]
    return tuple(Example(one, np.arange(2)) for one in made)


EXAMPLES: Examples = {PlannedRelease: examples}
UNUSABLE: Unusable = {PlannedRelease: {"epsilon": (*EPSILONS, 50.1)}}


@pytest.mark.parametrize(
    "choice", [{"distance": Ordered()}, {"mode": "full_support"}, {"kernel": "linear_program"}]
)
def test_other_choices_of_crr_are_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape("has no distance, mode or kernel to choose")):
        PlannedRelease(CASE_2, 1.0, **choice)


def test_other_chains_are_refused() -> None:
    with pytest.raises(ValueError, match="model: spending is planned for a matrix of first order"):
        PlannedRelease(sparse(), 1.0)


def test_the_claim_of_a_release_is_the_most_that_the_table_spends() -> None:
    assert PLANNED.plan is not None
    sip, ldp = PLANNED.guarantees()
    assert (sip.epsilon, ldp.epsilon) == (PLANNED.plan.largest, 2.0 * PLANNED.plan.largest)
    assert PLANNED.largest_charge == units_of(PLANNED.plan.largest)


def test_without_a_gain_the_law_is_that_of_plain_crr() -> None:
    model = binary(stays=0.5, first=0.5)
    planned, plain = PlannedRelease(model, 1.0), ConditionalRandomizedResponse(model, 1.0)
    assert planned.plan is None
    assert planned.audit()["planned spending"] == "not adopted: as crr with epsilon"
    assert planned.guarantees() == plain.guarantees()
    beliefs = np.array([np.linspace(0.0, 1.0, 41), 1.0 - np.linspace(0.0, 1.0, 41)])
    for truth in range(2):
        both = [law.law(beliefs).probabilities(np.full(41, truth)) for law in (planned, plain)]
        assert both[0].tobytes() == both[1].tobytes()
    assert planned.law_digest() != plain.law_digest()


def test_every_belief_has_the_law_and_the_charge_of_its_epsilon() -> None:
    assert PLANNED.plan is not None
    likely = np.linspace(0.0, 1.0, 97)
    beliefs = np.array([1.0 - likely, likely])
    many = PLANNED.law(beliefs)
    for column, choice in enumerate(PLANNED.plan.chosen(likely).tolist()):
        alone = PLANNED.law(np.ascontiguousarray(beliefs[:, column : column + 1]))
        epsilon = float(PLANNED.plan.epsilons[choice])
        assert many.charge[column] == alone.charge[0] <= units_of(epsilon)
        for truth in range(2):
            rows = many.probabilities(np.full(97, truth))[:, column]
            assert rows.tobytes() == alone.probabilities(np.array([truth]))[:, 0].tobytes()
        if choice:
            full = ConditionalRandomizedResponse(CASE_2, epsilon, mode="full_support")
            same = full.law(beliefs[:, column : column + 1])
            assert same.probabilities(np.array([0])).tolist() == [[v] for v in _row(many, column)]


def _row(law: Any, column: int) -> list[float]:
    row = law.probabilities(np.zeros(len(law.charge), dtype=np.int64))[:, column]
    return list(map(float, row))


def test_releases_are_drawn_as_the_table_says() -> None:
    rng, rows = np.random.default_rng(3), 60_000
    state = PLANNED.start(1)
    while PLANNED.next_charge(state)[0] == 0:
        state = PLANNED.skip(state, np.zeros(1, dtype=np.int64))[0]
    law = PLANNED.release_law(state)[0]
    many = {name: np.repeat(column, rows, axis=0) for name, column in state.items()}
    for truth in range(2):
        _, releases = PLANNED.step(many, Inputs(np.full(rows, truth)), simulated(rng, rows))
        ones = rows * law[truth, 1]
        squares = (releases.values.sum() - ones) ** 2 / (ones * law[truth, 0])
        assert squares < 16.0


def test_a_budget_is_spent_to_its_end_and_never_exceeded() -> None:
    rng, rows = np.random.default_rng(5), 500
    budgeted = Budgeted(PLANNED, total=10.0, when_exhausted="suppress")
    state, truth = budgeted.start(rows), rng.integers(2, size=rows)
    for _ in range(60):
        state, _ = budgeted.step(state, Inputs(truth), simulated(rng, rows))
        assert state["spent"].max() <= 10.0000001 * UNITS_PER_NAT
        truth = np.where(rng.random(rows) < 0.9, truth, 1 - truth)
    assert state["budget_exhausted"].all()
    assert state["spent"].min() > 7.4 * UNITS_PER_NAT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(1.0, 0.087), pytest.param(1.5, 0.057, marks=pytest.mark.acceptance)],
)
def test_the_error_of_released_bits_is_that_of_section_8(epsilon: float, printed: float) -> None:
    measured = measure(PlannedRelease, CASES[2], epsilon, steps=300, seed=30)
    assert abs(measured.error - printed) <= 4.0 * measured.standard_error + 0.001
