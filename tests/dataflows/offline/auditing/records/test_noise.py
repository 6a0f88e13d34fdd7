"""Noise of another law is noticed in numbers as they are published."""

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.records.noise import noise_checks
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import Start
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.noise.number_release import LaplaceRelease, NumberRelease
from fugu.operators.noise.staircase_release import StaircaseRelease
from tests.dataflows.offline.auditing.records.pipelines import pipeline, symbols_of


def fits(mechanism: NumberRelease, unit: float = 1.0) -> list[bool]:
    """Return whether the noise fits: at the least number, in the middle, at the largest one."""
    section = pipeline(kind=mechanism.kind, lower=0, upper=10, unit=unit, epsilon=1.0)
    configured = symbols_of(section, mechanism)
    start = Start(Line(section, configured), Subject.of(mechanism, 1.0, np.array([0, 10])))
    return [check.passed for check in noise_checks(start)]


@pytest.mark.parametrize("kind", [LaplaceRelease, StaircaseRelease])
def test_declared_noise_fits_everywhere_and_in_any_unit(
    kind: type[NumberRelease],
) -> None:
    assert fits(kind(0, 10, 1.0)) == [True] * 3
    assert fits(kind(0, 100, 1.0, units_per_one=10), unit=0.1) == [True] * 3


class ALittleLess(LaplaceRelease):
    """Scale the noise by 0.9."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return after, Releases(inputs.values + 0.9 * (releases.values - inputs.values))


class OneSided(LaplaceRelease):
    """Have no noise below the truth."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return after, Releases(inputs.values + np.abs(releases.values - inputs.values))


class Clamped(LaplaceRelease):
    """Clamp what is released."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return after, Releases(np.clip(releases.values, self.lower, self.upper))


@pytest.mark.parametrize("kind", [ALittleLess, OneSided, Clamped])
def test_other_noise_does_not(kind: type[NumberRelease]) -> None:
    assert fits(kind(0, 10, 1.0)) == [False] * 3


class ExactInside(LaplaceRelease):
    """Publish what is no end of the range as it is."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        ends = (inputs.values == self.lower) | (inputs.values == self.upper)
        return after, Releases(np.where(ends, releases.values, inputs.values))


def test_numbers_without_noise_are_noticed_in_the_middle_of_the_range() -> None:
    assert fits(ExactInside(0, 10, 1.0)) == [True, False, True]
