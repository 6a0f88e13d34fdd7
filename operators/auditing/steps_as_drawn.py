"""Measure how precisely real-time release measures, by driving the real step with chosen noise.

Noise has a deviation of 2^14 steps of a grid. How many of them the sensitivity has is the least
noise with which nothing is released as much as with one whole sensitivity more and no noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fugu.operators.auditing.chosen_points import ChosenPoints
from fugu.operators.mechanism import Inputs, Integers, Releases, State
from fugu.operators.noise.discrete_gaussian import LARGEST, PRECISION
from fugu.operators.realtime.real_time_release import RealTimeRelease

_UNLIKELY = 3 << PRECISION


@dataclass(frozen=True)
class Steps:
    """Hold how many grid steps the sensitivity has, `(ticks,)`; 0 where nothing is measured.

    `public` says whether what is released and remembered is a function of noisy figures alone.
    """

    steps: Integers
    public: bool


def steps_of(
    release: RealTimeRelease,
    ticks: int,
    seed: int = 0,
    between: Callable[[State, int], State] = lambda state, number: state,
) -> Steps:
    """Measure the first so many ticks, on one path; `between` is what happens before each."""
    rng, plain = (
        np.random.default_rng(seed),
        replace(release, weight=1.0, weights=(), presentation="none"),
    )
    state, found, public = release.start(1), [], True
    for number in range(ticks):
        state = between(state, number)
        found.append(_steps(plain, state))
        public &= _is_public(release, state, found[-1])
        noise = rng.integers(-_UNLIKELY, _UNLIKELY, (1, release.bins))
        state, _ = _step(release, state, 0, noise)
    return Steps(np.array(found), public)


def _steps(plain: RealTimeRelease, state: State) -> int:
    def least(value: int, noise: int) -> float:
        points = np.full((1, plain.bins), noise)
        return float(_step(plain, state, value, points)[1].values[0, 0])

    wanted, low, high = least(plain.sensitivity, 0), 0, LARGEST - 1
    if least(0, high) < wanted or least(0, 0) == least(0, high):
        return 0 if least(0, 0) == least(0, high) else int(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if least(0, middle) >= wanted else (middle, high)
    return int(high)


def _is_public(release: RealTimeRelease, state: State, steps: int) -> bool:
    """Return whether another figure with the same noisy figure is released alike."""
    nothing = np.zeros((1, release.bins), dtype=np.int64)
    one, other = (
        _step(release, state, value, nothing - noise)
        for value, noise in ((0, 0), (release.sensitivity, steps))
    )
    return _everything(*one) == _everything(*other)


def _step(
    release: RealTimeRelease, state: State, value: int, noise: Integers
) -> tuple[State, Releases]:
    values = np.full((1, release.bins), value)
    return release.step(state, Inputs(values), ChosenPoints(noise))


def _everything(state: State, releases: Releases) -> list[bytes]:
    columns = [releases.values, *releases.annotations.values(), *state.values()]
    kinds = b"" if releases.kinds is None else releases.kinds.tobytes()
    return [kinds, *(column.tobytes() for column in columns)]
