"""Draws pass for a law that is theirs, with atoms or without, and for no other."""

import numpy as np
import pytest
from scipy.stats import dlaplace, norm

from fugu.dataflows.offline.auditing.shapes import follows
from fugu.operators.mechanism import Floats

DRAWS = 20_000
STEP = 2.0**-15


def atoms(drawn: Floats, price: float) -> bool:
    law = dlaplace(price)
    return follows("noise", law.cdf(drawn - 1), law.cdf(drawn)).passed


def normal(drawn: Floats) -> bool:
    return follows("noise", norm.cdf(drawn - STEP), norm.cdf(drawn + STEP)).passed


@pytest.mark.parametrize("price", [2.0, 0.3, 0.001])
def test_a_law_of_atoms_is_known_from_one_that_is_a_little_wider(price: float) -> None:
    drawn = dlaplace(price).rvs(DRAWS, random_state=1)
    assert atoms(drawn, price)
    assert not atoms(drawn, 0.9 * price)


def test_a_law_without_atoms_is_known_from_one_that_is_shifted_or_halved() -> None:
    drawn = norm.rvs(size=DRAWS, random_state=1)
    assert normal(drawn)
    assert not normal(drawn + 0.1)
    assert not normal(0.5 * drawn)
    assert not normal(np.abs(drawn))


def test_one_draw_that_cannot_be_or_is_missing_is_enough() -> None:
    drawn = norm.rvs(size=DRAWS, random_state=1)
    assert not normal(np.append(drawn, 50.0))
    assert not normal(np.append(drawn, np.nan))


def test_few_draws_are_put_into_few_cells() -> None:
    assert normal(norm.rvs(size=12, random_state=1))
    assert not normal(np.full(60, 1.0))
