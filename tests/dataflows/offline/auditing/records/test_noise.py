"""Noise of another law is noticed in numbers as they are published."""

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.records.family import audited_pipeline
from fugu.operators.mechanism import Draws, Floats, Inputs, Releases, State
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.noise.number_release import NumberRelease
from fugu.operators.noise.staircase_release import StaircaseRelease
from tests.dataflows.offline.auditing.records.pipelines import pipeline, symbols_of

RUNS = 20_000


def p_values(mechanism: NumberRelease, unit: float = 1.0) -> list[float]:
    section = pipeline(kind=mechanism.kind, lower=0, upper=10, unit=unit, epsilon=1.0)
    found = audited_pipeline(section, symbols_of(section, mechanism), 1, [])
    assert len(found.fits) == 2
    seen: list[Floats] = [fit.world.seen(RUNS, (0, 0), lambda runs: None) for fit in found.fits]
    return [fit.p_value(some) for fit, some in zip(found.fits, seen, strict=True)]


@pytest.mark.parametrize("kind", [LaplaceRelease, StaircaseRelease])
def test_declared_noise_fits_at_both_ends_and_in_any_unit(kind: type[NumberRelease]) -> None:
    assert min(p_values(kind(0, 10, 1.0))) > 1e-3
    assert min(p_values(kind(0, 100, 1.0, units_per_one=10), unit=0.1)) > 1e-3


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
    assert max(p_values(kind(0, 10, 1.0))) < 1e-6
