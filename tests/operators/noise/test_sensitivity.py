"""Move neighbours on the grid: never farther than the noise is made for."""

from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.laplace import LaplaceNoise

FAR = 2**36


def laplace(rng: np.random.Generator, coordinates: int) -> LaplaceNoise:
    """Any sensitivity, and an epsilon that may be close to the resolution or far above it."""
    sensitivity = int(2 ** rng.uniform(0, 34))
    epsilon = max(coordinates * 2.0**-24, 2 ** rng.uniform(-24, 1))
    return LaplaceNoise(sensitivity, epsilon, -FAR, FAR, coordinates)


def split(rng: np.random.Generator, total: int, parts: int, rows: int) -> Integers:
    """Rows of signed integers whose absolute values sum to `total`."""
    cuts = np.sort(rng.integers(total + 1, size=(rows, parts - 1)), axis=1)
    sizes = np.diff(cuts, axis=1, prepend=0, append=total)
    signed: Integers = sizes * rng.choice([-1, 1], size=sizes.shape)
    return signed


@pytest.mark.parametrize("seed", range(4))
def test_scalar_neighbours_that_differ_by_the_sensitivity_move_by_exactly_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        noise = laplace(rng, 1)
        values = rng.integers(-FAR // 2, FAR // 2, size=100)
        moved = noise.grid.index(values + noise.sensitivity) - noise.grid.index(values)
        assert (moved == noise.index_sensitivity).all()


def check_scalar_rounding(configurations: int, rows: int) -> None:
    rng = np.random.default_rng(30)
    for _ in range(configurations):
        noise = laplace(rng, 1)
        values = rng.integers(-FAR // 2, FAR // 2, size=rows)
        others = values + rng.integers(-noise.sensitivity, noise.sensitivity + 1, size=rows)
        moved = noise.grid.index(others) - noise.grid.index(values)
        assert abs(moved).max() <= noise.index_sensitivity


def check_vector_rounding(configurations: int, rows: int) -> None:
    rng = np.random.default_rng(31)
    for _ in range(configurations):
        coordinates = int(rng.integers(2, 12))
        noise = laplace(rng, coordinates)
        values = rng.integers(-FAR // 2, FAR // 2, size=(rows, coordinates))
        others = values + split(rng, noise.sensitivity, coordinates, rows)
        moved = noise.grid.index(others) - noise.grid.index(values)
        assert abs(moved).sum(axis=1).max() <= noise.index_sensitivity


def check_euclidean_rounding(configurations: int, rows: int) -> None:
    rng = np.random.default_rng(32)
    for _ in range(configurations):
        coordinates = int(rng.integers(1, 12))
        sensitivity = int(2 ** rng.uniform(0, 30))
        ratio = max(coordinates + 2, 2 ** rng.uniform(0, 16))
        noise = GaussianNoise(sensitivity, sensitivity * 2**14 / ratio, -FAR, FAR, coordinates)
        values = rng.integers(-FAR // 2, FAR // 2, size=(rows, coordinates))
        direction = rng.normal(size=(rows, coordinates))
        direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
        change = np.trunc(direction * sensitivity * (1 - 2.0**-40)).astype(np.int64)
        assert (change**2).sum(axis=1).max() <= sensitivity**2
        moved = noise.grid.index(values + change) - noise.grid.index(values)
        assert (moved**2).sum(axis=1).max() <= noise.index_sensitivity**2


def test_neighbours_never_move_farther_than_s() -> None:
    check_scalar_rounding(configurations=200, rows=100)
    check_vector_rounding(configurations=200, rows=100)
    check_euclidean_rounding(configurations=200, rows=100)


@pytest.mark.acceptance
def test_neighbours_never_move_farther_than_s_in_many_cases() -> None:
    check_scalar_rounding(configurations=2000, rows=100)
    check_vector_rounding(configurations=2000, rows=100)
    check_euclidean_rounding(configurations=2000, rows=100)


@pytest.mark.parametrize("coordinates", [2, 3, 10])
def test_the_bound_for_vectors_is_tight(coordinates: int) -> None:
    """All but one coordinate cross a rounding boundary with a single unit."""
    noise = LaplaceNoise(10**9, 100 * coordinates * 2.0**-24, -FAR, FAR, coordinates)
    step = noise.grid.step
    just_below = int(step / 2)
    assert just_below / step < Fraction(1, 2) <= (just_below + 1) / step
    values = np.full((1, coordinates), just_below)
    change = np.full((1, coordinates), 1)
    change[0, 0] = noise.sensitivity - (coordinates - 1)
    moved = noise.grid.index(values + change) - noise.grid.index(values)
    assert moved.sum() == noise.index_sensitivity
