"""Attacks prove most of what an operator leaks, never more, and catch claims that do not hold."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding, Output
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from tests.dataflows.offline.auditing.records.pipelines import attacked, phase, pipeline
from tests.privacy.chains import binary
from tests.privacy.randomized_response import RandomizedResponse

MODEL = binary(stays=0.9, first=0.9)
FAIR = binary(stays=0.8, first=0.5)


def symbols(count: int, form: str = "grr") -> Pipeline:
    """A pipeline that publishes one of so many symbols, with a confidence or not."""
    alphabet = list(range(count))
    return pipeline(kind=form, alphabet=alphabet, epsilon=1.0, **FORMS[form])


FORMS: dict[str, dict[str, object]] = {
    "grr": {},
    "crr": {"model": "none.json"},
    "oue": {"output": "bits"},
}


@pytest.mark.parametrize(("count", "epsilon"), [(2, 1.0), (3, 2.0), (5, 1.5)])
@pytest.mark.parametrize("known", [True, False])
def test_most_of_a_known_leakage_is_proved_and_never_more(
    count: int, epsilon: float, known: bool
) -> None:
    plain = RandomizedResponse(count, epsilon, claimed=epsilon)
    for seed in range(2):
        [finding] = attacked(symbols(count), plain, steps=1, runs=20_000, seed=seed, known=known)
        assert 0.8 * epsilon < finding.bound <= epsilon
        assert not finding.broken


@pytest.mark.parametrize("output", get_args(Output))
def test_bits_are_attacked_without_knowing_their_law(output: Output) -> None:
    oue = OptimizedUnaryEncoding(3, epsilon=1.0, output=output)
    form = "oue" if output == "bits" else "grr"
    [finding] = attacked(symbols(3, form), oue, steps=1, runs=20_000, known=False)
    assert 0.3 < finding.bound <= 1.0
    assert not finding.broken


def test_leakages_of_several_releases_add_up() -> None:
    one, other, last, whole = attacked(
        symbols(2), RandomizedResponse(2, 1.0, 1.0), steps=3, runs=10_000
    )
    for finding in (one, other, last):
        assert 0.8 < finding.bound <= finding.attack.claim == 1.0
    assert 2.3 < whole.bound <= whole.attack.claim == 3.0


def test_streams_longer_than_can_be_followed_are_attacked_too() -> None:
    large = RandomizedResponse(60, 1.0, 1.0)
    attacks = phase(symbols(60), large, steps=3).attacks()
    assert [(attack.name, attack.claim, attack.exact is None) for attack in attacks] == [
        ("position 1 of 1", 1.0, False),
        ("position 1 of 3", 1.0, True),
        ("position 3 of 3", 1.0, True),
        ("whole streams of 3", 3.0, True),
    ]


def test_who_claims_less_than_is_leaked_is_caught() -> None:
    more = RandomizedResponse(3, 1.2, 1.0)
    findings = attacked(symbols(3), more, steps=1, runs=20_000)
    assert findings
    assert all(finding.broken for finding in findings)


def test_an_honest_operator_is_told_apart_within_its_claims() -> None:
    honest = ConditionalRandomizedResponse(FAIR, epsilon=1.0)
    findings = attacked(symbols(2, "crr"), honest, steps=4, runs=4_000)
    assert [finding.attack.notion for finding in findings] == ["sip"] * 3 + ["ldp"] * 4
    for finding in findings:
        assert finding.exact is not None
        assert 0.5 * finding.exact < finding.bound <= finding.exact
        assert finding.exact <= finding.attack.claim


def test_the_papers_mechanism_is_caught() -> None:
    paper = PaperConditionalRandomizedResponse(MODEL, epsilon=1.0)
    findings = attacked(symbols(2, "crr"), paper, steps=2, runs=6_000)
    first = findings[0]
    assert first.broken
    assert first.attack.claim == 1.0
    assert 1.5 < first.bound <= 1.901


def test_a_budget_bounds_what_can_be_proved() -> None:
    """After two releases nothing fresh comes, and streams that differ later are the same."""
    budgeted = Budgeted(RandomizedResponse(2, 1.0, 1.0), total=2.0)
    for known in (True, False):
        first, third, last, whole = attacked(symbols(2), budgeted, steps=4, runs=4_000, known=known)
        assert 0.7 < first.bound <= first.attack.claim == 1.0
        assert third.bound == last.bound == 0.0
        assert 1.5 < whole.bound <= whole.attack.claim
        assert whole.attack.claim == pytest.approx(2.0)


def test_releases_on_a_fine_grid_are_told_apart_by_bins() -> None:
    ends = np.array([0, 2**24])
    numbers = pipeline(kind="laplace", lower=0, upper=2**24, epsilon=1.0)
    laplace = LaplaceRelease(lower=0, upper=2**24, epsilon=1.0)
    first, last, whole = attacked(numbers, laplace, steps=2, runs=10_000, inputs=ends)
    for finding in (first, last):
        assert 0.7 < finding.bound <= finding.attack.claim == 1.0
        assert finding.exact is None
    assert 1.2 < whole.bound <= whole.attack.claim == 2.0


class WhisperingResponse(ConditionalRandomizedResponse):
    """Tells the truth in an annotation, now and then."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        confidence = releases.annotations["confidence"]
        tells = (releases.values == 1) & (inputs.values == 0)
        whispered = np.where(tells, confidence - 1e-4, confidence)
        return after, replace(releases, annotations={"confidence": whispered})


def test_what_annotations_tell_counts() -> None:
    whispering = WhisperingResponse(FAIR, epsilon=1.0)
    findings = attacked(symbols(2, "crr"), whispering, steps=2, runs=6_000)
    assert any(finding.broken for finding in findings)


def test_another_seed_makes_other_runs_and_the_same_seed_the_same() -> None:
    plain = RandomizedResponse(2, 1.0, 1.0)
    first, again, other = (
        [
            (finding.shown, finding.elsewhere)
            for finding in attacked(symbols(2), plain, steps=1, runs=2_000, seed=seed)
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
