"""The first row of the printed table, 8 runs each; `make acceptance` measures all of it."""

import numpy as np
import pytest

from tests.operators.wevent.moving_users import (
    CELLS,
    CONSTANT_GUESS,
    USERS,
    Cell,
    cells,
    counts,
    measure,
)

FIRST_ROW = [cell for cell in cells() if cell.window == 10]
TOLERANCE = 0.10
"""The printed one, for 8 runs of another stream of the same law."""


@pytest.mark.parametrize("cell", FIRST_ROW, ids=lambda cell: cell.strategy)
def test_errors_are_the_printed_ones(cell: Cell) -> None:
    measured = measure(cell, stream=1, runs=8, seed=2)
    assert measured.agrees_with(cell, TOLERANCE)
    assert measured.window_epsilon <= cell.epsilon


def test_publishing_the_mean_of_all_cells_has_the_printed_error() -> None:
    guess = np.abs(counts(1) - USERS / CELLS).mean()
    assert guess == pytest.approx(CONSTANT_GUESS, rel=TOLERANCE)
