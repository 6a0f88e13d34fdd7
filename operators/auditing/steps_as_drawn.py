"""Measure how precise a release is, by driving the real step with chosen noise or words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import (
    Array,
    Floats,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    State,
    Words,
)
from fugu.operators.noise.gaussian_table import LARGEST, PRECISION, table
from fugu.operators.realtime.real_time_release import RealTimeRelease


@dataclass(frozen=True)
class ChosenPoints:
    """Hold noise `(rows, coordinates)` in grid steps, for the one draw of a step.

    `drawn` is filled with how many rows each draw was made for.
    """

    steps: Integers
    drawn: list[int] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return words of which the first decides how far, the second one on which side."""
        assert (purpose, coordinates, count) == ("release", self.steps.shape[1], 2)
        self.drawn.append(sum(bound != b"" for bound in binding))
        far = np.abs(self.steps)
        sizes = np.where(far > 0, table()[far - 1], np.uint64(0))
        sides = np.where(self.steps < 0, np.uint64(2**63), np.uint64(0))
        return np.stack([sizes, sides], axis=-1)


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
    """Measure the first so many ticks, on one path; `between` is what happens before each.

    Noise has a deviation of 2^14 steps of a grid. How many of them the sensitivity has is the least
    noise with which nothing is released as much as with one whole sensitivity more and no noise.
    """
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


_LAST_WORD = 2**64 - 1
_TRIED = 256


@dataclass(frozen=True)
class _ChosenWords:
    """Give one chosen word for each bit, `(rows, bits)`, instead of draws."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return the chosen words; `ValueError` if another number is asked for."""
        if (len(binding), coordinates, count) != (len(self.chosen), 1, self.chosen.shape[1]):
            raise ValueError("a step that does not draw one word for each bit cannot be driven")
        return self.chosen[:, None, :]


@dataclass(frozen=True, eq=False)
class BitLaw:
    """Hold how many of 2^64 words set each bit, `(inputs, bits)`, and whether no others matter."""

    words: NDArray[np.object_]
    independent: bool

    @property
    def losses(self) -> Floats:
        """Return the largest logarithm of P(release | one input) / P(release | other)."""
        with np.errstate(divide="ignore"):
            laws = [np.log(some.astype(np.float64)) for some in (self.words, 2**64 - self.words)]
        with np.errstate(invalid="ignore"):
            gaps = [law[:, None] - law[None] for law in laws]
        possible = [np.where(np.isnan(gap), -np.inf, gap) for gap in gaps]
        return np.asarray(np.maximum(*possible).sum(axis=2))


def bit_law(mechanism: Mechanism, inputs: int, bits: int) -> BitLaw:
    """Find the threshold of each bit for each input, in the state of a fresh stream.

    A bit is halved down to two neighbouring words while all other words are the last one. Then many
    words at random, and those around all thresholds, must set exactly the bits that are below.

    >>> from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
    >>> law = bit_law(OptimizedUnaryEncoding(symbols=3, epsilon=1.0), 3, 3)
    >>> law.independent, law.losses.round(6).tolist()
    (True, [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    """
    given, bit = np.indices((inputs, bits)).reshape(2, -1)
    rows = np.arange(len(given))

    def is_set(word: Words) -> NDArray[np.bool_]:
        words = np.full((len(given), bits), _LAST_WORD, dtype=np.uint64)
        words[rows, bit] = word
        return _released(mechanism, given, words)[rows, bit]

    low, high = np.zeros(len(given), np.uint64), np.full(len(given), _LAST_WORD, np.uint64)
    never, always = ~is_set(low), is_set(high)
    while (high - low > 1).any():
        middle = low + (high - low) // np.uint64(2)
        below = is_set(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    words = np.where(never, 0, np.where(always, 2**64, high.astype(object)))
    found = words.reshape(inputs, bits)
    return BitLaw(found, _agrees(mechanism, found))


def _agrees(mechanism: Mechanism, thresholds: NDArray[np.object_]) -> bool:
    inputs, bits = thresholds.shape
    rng = np.random.default_rng(0)
    given = np.repeat(np.arange(inputs), _TRIED)
    words = rng.integers(0, _LAST_WORD, (len(given), bits), dtype=np.uint64, endpoint=True)
    last = np.minimum(thresholds, _LAST_WORD).astype(np.uint64)[given]
    beside = rng.integers(0, 4, words.shape)
    words = np.where(beside == 0, last, np.where((beside == 1) & (last > 0), last - 1, words))
    expected = words < last
    expected |= (thresholds > _LAST_WORD)[given]
    return bool((_released(mechanism, given, words) == expected).all())


def _released(mechanism: Mechanism, given: Array, words: Words) -> NDArray[np.bool_]:
    start = mechanism.start(len(given))
    _, releases = mechanism.step(start, Inputs(given), _ChosenWords(words))
    return releases.values.astype(bool)
