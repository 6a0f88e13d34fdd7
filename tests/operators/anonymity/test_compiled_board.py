"""A set of numbers that gives its least one."""

import numpy as np
import pytest

from fugu.operators.anonymity.compiled_board import add, room_for, take_least


@pytest.mark.parametrize("numbers", [1, 63, 64, 65, 4_097, 300_000])
def test_numbers_come_back_in_order_and_once(numbers: int) -> None:
    chosen = np.random.default_rng(numbers).integers(numbers, size=200).tolist()
    marks, levels = room_for(numbers)
    for number in chosen:
        add(marks, levels, number)
    taken = []
    while (least := take_least(marks, levels)) >= 0:
        taken.append(least)
    assert taken == sorted(set(chosen))
    assert not marks.any()


def test_a_number_below_those_taken_comes_next() -> None:
    marks, levels = room_for(10_000)
    for number in (9_000, 70):
        add(marks, levels, number)
    assert take_least(marks, levels) == 70
    add(marks, levels, 3)
    assert [take_least(marks, levels) for _ in range(3)] == [3, 9_000, -1]
