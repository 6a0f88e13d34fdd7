"""Compare the loss of uniform under a personal cap with all inputs one person may make."""

from itertools import combinations, product

import numpy as np
import pytest

from fugu.operators.budget_units import units_of
from fugu.operators.composition.composed_loss import ComposedLoss
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.wevent.spread_strategies import Uniform
from tests.operators.composition.laws import composed_law, delta_of_law, shifted_laplace

AMOUNT, TICKS, GROUPS = 3, 3, 2
EPSILON = 1.0


def shifts_of_neighbours(counted: int, *, signed: bool) -> set[tuple[int, ...]]:
    """Return by how much draws are moved, for all pairs of inputs; ticks that count may differ."""
    amounts = (AMOUNT, -AMOUNT) if signed else (AMOUNT, 1)
    inputs = []
    for number in range(counted + 1):
        for chosen in combinations(range(TICKS), number):
            for said in product(product(range(GROUPS), amounts), repeat=number):
                sums = np.zeros((TICKS, GROUPS), dtype=np.int64)
                for tick, (group, amount) in zip(chosen, said, strict=True):
                    sums[tick, group] = amount
                inputs.append(sums.ravel())
    apart = {tuple(sorted(np.abs(one - two).tolist())) for one, two in combinations(inputs, 2)}
    return {tuple(shift for shift in shifts if shift) for shifts in apart}


@pytest.mark.parametrize("counted", [1, 2])
@pytest.mark.parametrize("signed", [False, True])
def test_no_input_of_one_person_loses_more_than_the_loss_says(signed: bool, counted: int) -> None:
    cap = PersonalCap(counted, TICKS, signed=signed)
    uniform = Uniform(GROUPS, counted, EPSILON, 2 * AMOUNT, personal_cap=cap)
    [promised] = uniform.guarantees()
    said = ComposedLoss.of(promised.known_loss)
    rate = EPSILON / counted / (2 * AMOUNT)
    laws = [
        composed_law([shifted_laplace(rate, shift) for shift in shifts])
        for shifts in shifts_of_neighbours(counted, signed=signed)
    ]
    for epsilon in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        most = max(delta_of_law(law, epsilon) for law in laws)
        stated = float(said.delta(units_of(epsilon)))
        assert 0.3 * stated < most <= stated * (1.0 + 1e-6)
