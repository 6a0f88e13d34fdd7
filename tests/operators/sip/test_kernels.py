"""Hold every kernel to the same claims, whatever it proposes."""

from dataclasses import replace
from hashlib import blake2b
from math import exp

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Floats, Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.distances import HAMMING, Ordered, Points
from fugu.operators.sip.integer_law import FORMAT
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.sip import dense, explicit_law
from tests.operators.sip.beliefs import random_beliefs
from tests.operators.sip.choices import HEURISTIC, KERNELS, PROGRAMS, scattered
from tests.operators.sip.test_sampler import agrees

SLACK = 1e-9
ROWS = 30_000
MODEL = MarkovModel.smoothed([0.4, 0.3, 0.2, 0.1], 0.7 * np.eye(4) + 0.075, 0.0)


def check(name: str, belief: Floats, epsilon: float) -> None:
    computed = dense.law_of(KERNELS[name], belief, epsilon)
    law = dense.matrix(computed)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    leaked = dense.leakages(belief, law)
    assert (leaked <= epsilon + SLACK).all()
    assert (dense.distances(law) <= 2.0 * epsilon + SLACK).all()
    np.testing.assert_allclose(computed.leakage, leaked, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", HEURISTIC)
def test_random_beliefs_never_leak_more_than_epsilon(name: str) -> None:
    """A third of the beliefs has zeros."""
    rng = np.random.default_rng(3)
    for symbols in (1, 2, 3, 5, 9, 20):
        for epsilon in [1e-3, 15.0, *np.exp(rng.uniform(np.log(1e-3), np.log(15.0), 5))]:
            check(name, random_beliefs(rng, symbols, 15), float(epsilon))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_solutions_for_random_beliefs_never_leak_more_than_epsilon(name: str) -> None:
    rng = np.random.default_rng(4)
    for symbols in (1, 2, 3, 6):
        for epsilon in (1e-3, 0.3, 1.4, 15.0, 50.0):
            check(name, random_beliefs(rng, symbols, 5), epsilon)


@pytest.mark.parametrize("name", KERNELS)
def test_two_symbols_have_the_least_error_there_is(name: str) -> None:
    """With two symbols every distance is 0/1 distance; full support gives up the constant."""
    rng = np.random.default_rng(6)
    for _ in range(25):
        epsilon, least = rng.uniform(0.01, 5.0), 0.5 * rng.random()
        belief = np.array([1.0 - least, least])[:: rng.choice([-1, 1])]
        law = dense.matrix(dense.law_of(KERNELS[name], belief[:, None], epsilon))[:, :, 0]
        error = 1.0 - explicit_law.accuracy(belief, law)
        expected = explicit_law.least_error_of_two(least, epsilon)
        if name == "full_support" and 2.0 * exp(epsilon) * least < 1.0:
            assert error > expected
            assert law.min() > 0.0
        else:
            assert error == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("name", KERNELS)
def test_keyed_draws_give_the_law(name: str) -> None:
    """Draw for 30,000 streams that all hold one truth."""
    mechanism = KERNELS[name].configured(MODEL, 1.3)
    scope = DrawScope(Secret(bytes(range(32))), "tests", "crr", 1, mechanism.law_digest())
    draws = scope.draws([b"key"] * ROWS, record_positions("topic", 0, range(ROWS)))
    _, releases = mechanism.step(mechanism.start(ROWS), Inputs(np.full(ROWS, 2)), draws)
    law = dense.matrix(mechanism.law(MODEL.prior[:, None]))[2, :, 0]
    assert np.count_nonzero(law) > 1
    assert agrees(releases.values, ROWS * law)


@pytest.mark.parametrize("name", KERNELS)
def test_the_audit_says_what_an_error_costs(name: str) -> None:
    mechanism = KERNELS[name].configured(MODEL, 1.3)
    law = dense.matrix(mechanism.law(MODEL.prior[:, None]))
    cost = dense.expected_distance(MODEL.prior[:, None], law, mechanism.distance.table(4))
    assert mechanism.audit()["first release: expected distance"] == pytest.approx(cost[0])
    assert in_nats(int(mechanism.next_charge(mechanism.start(1))[0])) <= 1.3 + SLACK


def test_the_law_digest_tells_kernels_apart() -> None:
    digests = {choices.configured(MODEL, 1.0).law_digest() for choices in KERNELS.values()}
    elsewhere = np.array(scattered(4).coordinates)
    elsewhere[0, 0] += 1e-9
    crr = ConditionalRandomizedResponse(MODEL, 1.0)
    others = {crr.law_digest(), replace(crr, distance=Points(elsewhere)).law_digest()}
    assert len(digests | others) == len(KERNELS) + 2


def test_the_default_law_keeps_its_digest() -> None:
    """Pipelines that run must not be refused for choices they never made."""
    model = MarkovModel(np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    crr = ConditionalRandomizedResponse(model, 1.0)
    numbers = [column.astype("<f8").tobytes() for column in (model.prior, model.transition)]
    content = encode_fields("crr", crr.implementation, "0x1.0000000000000p+0", *numbers, *FORMAT)
    digest = blake2b(content, digest_size=32).digest()
    assert crr.law_digest() == digest
    said = ConditionalRandomizedResponse(model, 1.0, HAMMING, "optimal", "heuristic")
    assert said.law_digest() == digest


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"mode": "best"}, "^mode: must be optimal or full_support"),
        ({"kernel": "simplex"}, "^kernel: must be heuristic or linear_program"),
        ({"mode": "full_support", "distance": Ordered()}, "^mode: full_support always proposes"),
        ({"mode": "full_support", "kernel": "linear_program"}, "^mode: full_support always"),
        ({"distance": scattered(3)}, "^distance: has 3 points, but there are 4 symbols"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(choices: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(ConditionalRandomizedResponse(MODEL, 1.0), **choices)  # type: ignore[arg-type]


def test_the_papers_baseline_has_nothing_to_choose() -> None:
    with pytest.raises(ValueError, match="paper_crr: has no distance, mode or kernel"):
        PaperConditionalRandomizedResponse(MODEL, 1.0, mode="full_support")


@pytest.mark.parametrize("coordinates", [[], [[]], [1.0, 2.0], [[np.nan]], [[np.inf]], [[1e101]]])
def test_points_are_finite_numbers_of_one_shape(coordinates: object) -> None:
    with pytest.raises(ValueError, match=r"^distance: "):
        Points(np.array(coordinates))
