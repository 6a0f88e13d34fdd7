"""Exact rounding onto the grid, and correctly rounded doubles off it, beside Python's fractions."""

from fractions import Fraction
from math import floor, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.noise.grid import LARGEST_POINT, Grid, RowGrids

HALF = Fraction(1, 2)
steps = st.builds(
    Fraction,
    st.one_of(st.integers(1, 2**12), st.integers(1, 2**61 - 1)),
    st.one_of(st.integers(1, 2**12), st.integers(1, 2**40)),
)


def reach(step: Fraction) -> int:
    """The largest value that a grid with this step may declare, without noise."""
    return min(LARGEST_POINT - 1, floor((LARGEST_POINT - 2) * step))


@settings(max_examples=400)
@given(step=steps, data=st.data())
def test_an_index_is_the_floor_of_the_exact_quotient_plus_a_half(
    step: Fraction, data: st.DataObject
) -> None:
    farthest = reach(step)
    grid = Grid(step, -farthest, farthest, largest_noise=0)
    anywhere = st.one_of(st.integers(-farthest, farthest), st.integers(-min(9, farthest), 0))
    values = data.draw(st.lists(anywhere, min_size=1, max_size=20))
    values += [farthest, -farthest, 0]
    index = grid.index(np.array(values, dtype=np.int64))
    assert index.tolist() == [floor(value / step + HALF) for value in values]
    assert abs(index).max() < LARGEST_POINT


def test_halves_are_rounded_up() -> None:
    grid = Grid(Fraction(2), -9, 9, largest_noise=0)
    assert grid.index(np.array([-3, -2, -1, 0, 1, 2, 3])).tolist() == [-1, -1, 0, 0, 1, 1, 2]


def test_products_that_do_not_fit_64_bits_are_exact() -> None:
    """A value of 2^50 units times a denominator of 2^28 - 57 needs 78 bits."""
    step = Fraction(2**60 - 93, 2**28 - 57)
    grid = Grid(step, -(2**61), 2**61, largest_noise=2**30)
    values = np.random.default_rng(5).integers(-(2**61), 2**61, size=5000)
    assert grid.index(values).tolist() == [floor(int(q) / step + HALF) for q in values]


def test_indices_keep_the_shape_and_do_not_depend_on_the_other_values() -> None:
    grid = Grid(Fraction(1000, 2**24 - 5), -(2**40), 2**40, largest_noise=2**30)
    values = np.random.default_rng(6).integers(-(2**40), 2**40, size=(7, 3))
    index = grid.index(values)
    assert index.shape == (7, 3)
    assert [grid.index(row).tolist() for row in values] == index.tolist()
    assert grid.index(values.astype(np.int32) // 2**9).dtype == np.int64
    assert grid.index(values[:0]).shape == (0, 3)


def is_nearest(double: float, exact: Fraction) -> bool:
    """Return whether no neighbouring double is nearer, and of two as near this is the even one."""
    distance = abs(Fraction(double) - exact)
    for neighbour in (float(np.nextafter(double, inf)), float(np.nextafter(double, -inf))):
        other = abs(Fraction(neighbour) - exact)
        even = int(np.float64(double).view(np.int64)) % 2 == 0
        if other < distance or (other == distance and not even):
            return False
    return True


@settings(max_examples=300)
@given(step=steps, units_per_one=st.sampled_from([1, 10, 1000, 2**20, 10**12]), data=st.data())
def test_values_are_correctly_rounded(
    step: Fraction, units_per_one: int, data: st.DataObject
) -> None:
    grid = Grid(step, 0, 0, largest_noise=0)
    limit = LARGEST_POINT - 1
    point = st.one_of(st.integers(-limit, limit), st.integers(-(2**30), 2**30))
    points = data.draw(st.lists(point, min_size=1, max_size=20))
    values = grid.value(np.array(points, dtype=np.int64), units_per_one)
    for double, number in zip(values.tolist(), points, strict=True):
        assert is_nearest(double, number * step / units_per_one)


def test_ties_between_doubles_are_rounded_to_even_near_and_far() -> None:
    odd = 2**53 + 1
    grid = Grid(Fraction(1, 3), 0, 0, largest_noise=0)
    assert grid.value(np.array([3 * odd, -3 * odd, 3])).tolist() == [2.0**53, -(2.0**53), 1.0]


def test_values_keep_the_shape_and_do_not_depend_on_the_other_points() -> None:
    """Points with an exact product, and points without."""
    grid = Grid(Fraction(10**6 + 3, 2**24 - 3), 0, 0, largest_noise=0)
    points = np.random.default_rng(7).integers(-(2**35), 2**35, size=(50, 4))
    values = grid.value(points)
    assert values.shape == (50, 4)
    assert b"".join(grid.value(row).tobytes() for row in points) == values.tobytes()
    assert grid.value(points[:0]).shape == (0, 4)


@pytest.mark.parametrize(
    ("step", "lower", "upper", "largest_noise"),
    [
        (Fraction(1), -(2**62), 0, 0),
        (Fraction(1), 0, 2**62, 0),
        (Fraction(1), 0, 2**62 - 2**30, 2**30),
        (Fraction(1, 2**24), 0, 2**38, 0),
        (Fraction(1, 2**62), 0, 0, 0),
        (Fraction(2**61), 0, 0, 0),
    ],
)
def test_a_range_that_does_not_fit_64_bits_is_refused_at_configuration(
    step: Fraction, lower: int, upper: int, largest_noise: int
) -> None:
    with pytest.raises(ValueError, match=r"declare a smaller range or a larger unit"):
        Grid(step, lower, upper, largest_noise)


def test_the_widest_range_that_fits_is_accepted() -> None:
    grid = Grid(Fraction(1), -(2**62 - 2**30 - 1), 2**62 - 2**30 - 1, largest_noise=2**30)
    farthest = grid.index(np.array([grid.lower, grid.upper]))
    assert (np.abs(farthest) + 2**30).tolist() == [2**62 - 1] * 2


@pytest.mark.parametrize(
    ("step", "lower", "upper", "match"),
    [(Fraction(0), 0, 1, "step"), (Fraction(-1), 0, 1, "step"), (Fraction(1), 2, 1, "lower")],
)
def test_impossible_grids_are_refused(step: Fraction, lower: int, upper: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Grid(step, lower, upper, largest_noise=0)


@pytest.mark.parametrize("dtype", [np.float64, np.uint64, object])
def test_anything_but_64_bit_integers_is_refused(dtype: type) -> None:
    with pytest.raises(ValueError, match="integers that count units"):
        Grid(Fraction(1), 0, 9, largest_noise=0).index(np.array([1, 2], dtype=dtype))


@pytest.mark.parametrize("value", [-1, 10])
def test_a_value_outside_the_declared_range_is_refused_without_being_named(value: int) -> None:
    with pytest.raises(ValueError, match="clamp") as refused:
        Grid(Fraction(1), 0, 9, largest_noise=0).index(np.array([5, value]))
    assert str(value) not in str(refused.value)


# A step for each row gives what `Grid` gives row by row, to the last bit.


STEPS = np.array([1, 2, 3, 7, 64, 1000, 16384, 103_600])


@pytest.mark.parametrize("sensitivity", [1, 2, 10, 140, 999_983, 2**44 - 1, 2**44])
def test_indices_and_values_are_those_of_a_grid_for_each_row(sensitivity: int) -> None:
    rng = np.random.default_rng(sensitivity)
    values = rng.integers(-(2**44), 2**44 + 1, (len(STEPS), 50))
    values[:, :9] = np.arange(-4, 5)
    noise = rng.integers(-163_841, 163_842, values.shape)
    grids = RowGrids(sensitivity, STEPS)
    index = grids.index(values)
    told = grids.value(index + noise)
    for row, steps in enumerate(STEPS.tolist()):
        grid = Grid(Fraction(sensitivity, steps), -(2**44), 2**44, 163_841)
        assert index[row].tolist() == grid.index(values[row]).tolist()
        assert told[row].tobytes() == grid.value(index[row] + noise[row]).tobytes()
