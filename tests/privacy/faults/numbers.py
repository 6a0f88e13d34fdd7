"""Plant faults in noise that is added to numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.kinds.laplace import LaplaceOperator
from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Array, Draws, Inputs, Integers, Releases, State, Words
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import unit_interval
from tests.conformance import test_mechanisms as conformance
from tests.conformance.example import Example
from tests.operators.noise import test_number_release as laplace_release
from tests.privacy.faults.planted import InAudit, InTest, Planted, Replacing

FAMILY = "records"


@dataclass(frozen=True)
class Rebound:
    """Bind draws to something else: a function of the row and of what it should be."""

    draws: Draws
    bound: Callable[[int, bytes], bytes]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        bindings = [self.bound(row, digest) for row, digest in enumerate(binding)]
        return self.draws.words(purpose, bindings, coordinates=coordinates, count=count)


class HalvedNoise(LaplaceNoise):
    """Halve every noise."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        index = self.grid.index(values)
        return index + (super().add(values, draws, purpose) - index) // 2


class PositiveNoise(LaplaceNoise):
    """Drop the sign of noise."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        index = self.grid.index(values)
        return np.asarray(index + np.abs(super().add(values, draws, purpose) - index))


class UnboundNoise(LaplaceNoise):
    """Draw the noise of a position, whatever it is added to."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        return super().add(values, Rebound(draws, lambda row, digest: bytes(32)), purpose)


class RowNumberNoise(LaplaceNoise):
    """Draw the noise of a row of the batch."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        return super().add(values, Rebound(draws, binding_digest), purpose)


class FaultyNoise(LaplaceRelease):
    """Release numbers with noise that has a fault."""

    faulty: ClassVar[type[LaplaceNoise]]

    def __post_init__(self) -> None:
        super().__post_init__()
        noise = self.faulty(self.upper - self.lower, self.epsilon, self.lower, self.upper)
        object.__setattr__(self, "noise", noise)


class ScaleOffByTwo(FaultyNoise):
    """Add half of the noise that was drawn."""

    faulty = HalvedNoise


class SignAlwaysPositive(FaultyNoise):
    """Add the amount of the noise, never subtract it."""

    faulty = PositiveNoise


class MissingBinding(FaultyNoise):
    """Draw noise from the position alone: equal noise for other data."""

    faulty = UnboundNoise


class NoiseFromTheRowNumber(FaultyNoise):
    """Bind noise to the row of the batch instead of the value."""

    faulty = RowNumberNoise


class ClampAfterNoise(LaplaceRelease):
    """Clamp the noisy number instead of the one that noise is added to."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, _ = super().step(state, inputs, draws)
        anywhere = LaplaceNoise(self.upper - self.lower, self.epsilon, -(2**40), 2**40)
        noisy = anywhere.grid.value(anywhere.add(inputs.values, draws), self.units_per_one)
        lower, upper = self.lower / self.units_per_one, self.upper / self.units_per_one
        return after, Releases(np.clip(noisy, lower, upper))


class FloatingPointNoise(LaplaceRelease):
    """Invert a double of 53 bits, and add the noise to a double."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, _ = super().step(state, inputs, draws)
        clamped = np.clip(inputs.values, self.lower, self.upper)
        words = draws.words("release", [binding_digest(value) for value in clamped.tolist()])
        centred = unit_interval(words[:, 0, 0]) - 0.5
        noise = -np.sign(centred) * np.log1p(-2.0 * np.abs(centred)) * float(self.noise.scale)
        return after, Releases((clamped + noise) / self.units_per_one)


def _numbers(kind: type[LaplaceRelease]) -> LaplaceRelease:
    return kind(lower=400, upper=2000, epsilon=1.0, units_per_one=10)


def _example(kind: type[LaplaceRelease]) -> Example:
    return Example(_numbers(kind), np.array([400, 725, 2000, 9999]))


AUDIT = Replacing(LaplaceOperator, "mechanism_class", InAudit("laplace"))
CUTTING = InTest(
    conformance.test_how_input_is_cut_into_batches_never_shows, lambda kind: (_example(kind), 0)
)
BINDING = InTest(
    conformance.test_other_data_at_the_same_position_draw_other_words,
    lambda kind: (_example(kind),),
)
CLAMPING = InTest(
    laplace_release.test_values_are_clamped_before_noise, lambda kind: (_numbers(kind), 1000)
)
MOMENTS = InTest(
    laplace_release.test_releases_are_unbiased_and_as_noisy_as_epsilon_says,
    lambda kind: (_numbers(kind),),
)
GRID = InTest(
    laplace_release.test_every_release_is_a_point_of_the_public_grid_whatever_the_value,
    lambda kind: (_numbers(kind),),
)
PLANTED = (
    Planted("halved noise", LaplaceRelease, ScaleOffByTwo, AUDIT, false_alarm=1e-3),
    Planted("noise without a sign", LaplaceRelease, SignAlwaysPositive, MOMENTS, false_alarm=7e-5),
    Planted("noise from the row number", LaplaceRelease, NoiseFromTheRowNumber, CUTTING),
    Planted("noise not bound to the value", LaplaceRelease, MissingBinding, BINDING),
    Planted("clamped after the noise", LaplaceRelease, ClampAfterNoise, CLAMPING),
    Planted("law of 53 bits", LaplaceRelease, FloatingPointNoise, GRID),
)
