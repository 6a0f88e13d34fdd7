"""A step for each row gives what `Grid` gives row by row, to the last bit."""

from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.noise.grid import Grid
from fugu.operators.noise.row_grids import RowGrids

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
