"""Measuring rows of different precision: the noise is that of each row alone, and so is the work
that of rows, not of precisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nextafter

import numpy as np
import pytest

from fugu.operators.mechanism import Draws, Inputs, Words
from fugu.operators.noise import gaussian
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.randomness import DrawScope, draws_of, tick_position
from fugu.operators.realtime import measurement
from fugu.operators.realtime.measurement import Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.secret import Secret
from fugu.operators.wevent.limits import LARGEST_VALUE


def draws(rows: int) -> Draws:
    scope = DrawScope(Secret(bytes(range(32))), "test", "real", 1, bytes(32))
    return scope.draws([b"%d" % row for row in range(rows)], [tick_position("t", 7)] * rows)


@pytest.mark.parametrize("bins", [1, 3])
@pytest.mark.parametrize("sensitivity", [1, 140, 2**44])
def test_noise_is_that_of_gaussian_noise_row_by_row(sensitivity: int, bins: int) -> None:
    rng, rows = np.random.default_rng(1), 40
    values = rng.integers(-(2**40), 2**40, (rows, bins))
    steps = np.where(np.arange(rows) % 5 == 0, 0, rng.integers(1, 100_000, rows))
    steps[1:4] = 1, 2, 16_384
    found = Measurement(sensitivity).noisy(values, steps, draws(rows))
    for row in range(rows):
        expected = np.zeros((1, bins))
        if steps[row]:
            exact = measurement._deviation(sensitivity, int(steps[row]))
            deviation = float(exact)
            if deviation > exact:
                deviation = nextafter(deviation, 0.0)
            noise = GaussianNoise(sensitivity, deviation, -LARGEST_VALUE, LARGEST_VALUE)
            its = draws_of(draws(rows), np.array([row]), rows)
            expected = noise.grid.value(noise.add(values[row : row + 1], its))
        assert found[row].tobytes() == expected[0].tobytes()


@dataclass
class Counted:
    """Counts how often words are asked for, and for how many rows."""

    draws: Draws
    asked: list[int] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        self.asked.append(len(binding))
        return self.draws.words(purpose, binding, coordinates=coordinates, count=count)


@pytest.mark.parametrize("ages", [1, 40, 1_000])
def test_a_tick_takes_as_many_steps_whatever_the_ages_of_streams(
    ages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With decay, each age has a precision of its own: once, a draw and a grid were made for each
    of them, which took 2.2 seconds a tick for 5,000 streams."""
    rows, made = 1_000, []
    release = RealTimeRelease(1, 1, 1, epsilon=20.0, delta=1e-6, decay=0.99)
    state = release.start(rows)
    state["count"][:, 0] = np.arange(rows) % ages
    distinct = len(np.unique(release.schedule.steps(state["count"][:, 0])))
    assert distinct > 0.3 * ages
    made_before = gaussian.GaussianNoise.__post_init__

    def counting(noise: GaussianNoise) -> None:
        made.append(noise)
        made_before(noise)

    monkeypatch.setattr(gaussian.GaussianNoise, "__post_init__", counting)
    counted = Counted(draws(rows))
    _, releases = release.step(state, Inputs(np.full((rows, 1), 500)), counted)
    assert releases.annotations["published"].all()
    assert counted.asked == [rows]
    assert made == []
