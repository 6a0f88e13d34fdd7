"""Compare what `step` draws with the law, for every mechanism that can be enumerated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.auditing.step_check import StepCheck, check_step
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import (
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Mechanism,
    Releases,
    State,
    Words,
)
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.wevent_local.window_reports import WindowReports
from tests.conformance.examples import examples_where
from tests.conformance.kinds import KINDS
from tests.privacy.chains import binary
from tests.privacy.randomized_response import RandomizedResponse

MODEL = binary(stays=0.9, first=0.4)
STATES = 20


def enumerable(mechanism: Mechanism) -> TypeGuard[EnumerableMechanism]:
    return isinstance(mechanism, EnumerableMechanism) and mechanism.outcomes[0] > 0


def checks(mechanism: EnumerableMechanism) -> Iterator[StepCheck]:
    """At the start, and after one release and two and three."""
    yield check_step(mechanism, mechanism.start(1))
    for paths in sequences(mechanism, 3):
        state = {name: column[:STATES] for name, column in paths.state.items()}
        yield check_step(mechanism, state)


def of_few_words(mechanism: Mechanism) -> bool:
    """Return whether a step draws so few words that all of them can be driven: reports of many
    bits have a test of their own draws (`tests/operators/wevent_local`)."""
    return enumerable(mechanism) and not isinstance(mechanism, WindowReports)


@pytest.mark.parametrize("chosen", examples_where(of_few_words))
def test_every_release_is_drawn_from_the_law_and_moves_the_state_as_said(
    chosen: tuple[str, int],
) -> None:
    kind, number = chosen
    mechanism = KINDS[kind].examples()[number].mechanism
    assert enumerable(mechanism)
    for check in checks(mechanism):
        assert check.distance < 1e-14
        assert check.follows
        assert check.public


def test_a_budget_that_runs_out_is_followed_as_it_is_stepped() -> None:
    """Some rows pay and some do not."""
    crr = ConditionalRandomizedResponse(MODEL, epsilon=0.7)
    for budgeted in (
        Budgeted(crr, total=1.4, when_exhausted="constant"),
        Budgeted(crr, total=1.4, when_exhausted="suppress"),
        Budgeted(crr, total=1.0, window=2),
    ):
        for check in checks(budgeted):
            assert (check.distance < 1e-14, check.follows, check.public) == (True, True, True)


def test_the_smallest_probability_is_counted() -> None:
    rare = RandomizedResponse(3, epsilon=18.0, claimed=18.0)
    check = check_step(rare, rare.start(1))
    assert 0.0 < rare.matrix[0, 1] < 1e-7
    assert check.distance < 1e-15


@dataclass(frozen=True)
class SkewedWords:
    """Words that are not uniform."""

    draws: Draws

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        words = self.draws.words(purpose, binding, coordinates=coordinates, count=count)
        return words - words // np.uint64(50)


class SkewedResponse(ConditionalRandomizedResponse):
    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, SkewedWords(draws))


class WhisperingResponse(ConditionalRandomizedResponse):
    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        whispered: Floats = releases.annotations["confidence"] + 1e-9 * inputs.values
        return after, replace(releases, annotations={"confidence": whispered})


class RememberingResponse(ConditionalRandomizedResponse):
    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return {**after, "releases": after["releases"] + inputs.values}, releases


@pytest.mark.parametrize(
    ("kind", "noticed"),
    [
        (SkewedResponse, (False, True, True)),
        (WhisperingResponse, (True, True, False)),
        (RememberingResponse, (True, False, True)),
    ],
)
def test_a_step_that_does_something_else_is_noticed(
    kind: type[ConditionalRandomizedResponse], noticed: tuple[bool, bool, bool]
) -> None:
    mechanism = kind(MODEL, epsilon=1.0)
    check = check_step(mechanism, mechanism.start(1))
    assert (check.distance < 1e-14, check.follows, check.public) == noticed
