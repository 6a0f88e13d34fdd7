"""The law of the delay against exact integers, and the numbers of the specification."""

from fractions import Fraction
from functools import cache
from math import comb, log

import numpy as np
import pytest

from fugu.operators.temporal.dispatch_law import (
    Costs,
    delay_law,
    derived_budget,
    early_ratios,
    free_chances,
    largest_window,
    late_ratios,
    smallest_budget,
)
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.selection import choose, select


@cache
def stirling(n: int, c: int) -> int:
    """Partitions of n things into c classes."""
    if n == 0 or c == 0:
        return int(n == c)
    return c * stirling(n - 1, c) + stirling(n - 1, c - 1) if c <= n else 0


def exact_law(k: int, c0: int) -> list[Fraction]:
    """Section 3, in integers."""
    whole = stirling(k, c0)
    law = [Fraction(stirling(k - 1, c0 - 1), whole)]
    for j in range(1, k):
        ways = sum(comb(j - 1, i) * stirling(k - 2 - i, c0 - 1) for i in range(min(j, k - 1)))
        law.append(Fraction(ways, whole))
    return law


@pytest.mark.parametrize(
    ("k", "c0", "shares", "whole"),
    [
        (3, 2, [1, 1, 1], 3),
        (4, 2, [1, 1, 2, 3], 7),
        (5, 2, [1, 1, 2, 4, 7], 15),
        (5, 3, [7, 3, 4, 5, 6], 25),
        (5, 4, [6, 1, 1, 1, 1], 10),
        (6, 3, [15, 7, 10, 14, 19, 25], 90),
    ],
)
def test_small_laws_are_the_printed_fractions(
    k: int, c0: int, shares: list[int], whole: int
) -> None:
    assert exact_law(k, c0) == [Fraction(share, whole) for share in shares]
    assert delay_law(k, c0) == pytest.approx(np.array(shares) / whole, rel=1e-14)


@pytest.mark.parametrize("k", [3, 4, 7, 10, 20, 57, 150])
def test_laws_are_exact_to_a_few_roundings(k: int) -> None:
    for c0 in {2, 3, k // 3, k // 2, k - 2, k - 1} & set(range(2, k)):
        exact = exact_law(k, c0)
        assert sum(exact) == 1
        assert sum(j * p for j, p in enumerate(exact)) == k - c0
        off = [abs(Fraction(p) / q - 1) for p, q in zip(delay_law(k, c0), exact, strict=True)]
        assert float(max(off)) < 1e-13


def rows_of_stirling(last: int, c0: int) -> list[list[int]]:
    """S(n, 0..c0) for n = 0..last, without recursion."""
    rows = [[1, *[0] * c0]]
    for _ in range(last):
        above = rows[-1]
        rows.append([0, *(c * above[c] + above[c - 1] for c in range(1, c0 + 1))])
    return rows


@pytest.mark.parametrize("c0", [2, 29, 400, 998])
def test_the_longest_window_loses_no_digits(c0: int) -> None:
    law, (*_, third, second, last) = delay_law(1000, c0), rows_of_stirling(1000, c0)
    exact = {0: second[c0 - 1], 1: third[c0 - 1], 999: second[c0]}
    for j, ways in exact.items():
        assert law[j] == pytest.approx(float(Fraction(ways, last[c0])), rel=1e-12, abs=0.0)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert float((law * np.arange(1000)).sum()) == pytest.approx(1000 - c0, rel=1e-11)


@pytest.mark.parametrize("k", [4, 5, 10, 37, 200])
def test_delay_1_is_the_least_likely_and_0_or_the_last_the_most_likely(k: int) -> None:
    for c0 in range(2, k):
        law = delay_law(k, c0)
        assert (law[2:] >= law[1:-1] * (1 - 1e-13)).all()
        assert law[0] >= law[1] * (1 - 1e-13)
        assert (law[0] == pytest.approx(law[1], rel=1e-12, abs=0.0)) == (c0 == 2)
        assert early_ratios(k)[c0 - 2] == pytest.approx(law[0] / law[1], rel=1e-12, abs=0.0)
        assert late_ratios(k)[c0 - 2] == pytest.approx(law[-1] / law[1], rel=1e-12, abs=0.0)
    assert (np.diff(early_ratios(k)) > 0.0).all()
    assert (np.diff(late_ratios(k)) < 0.0).all()


@pytest.mark.parametrize(
    ("k", "budgets"),
    [
        (3, [0.0]),
        (4, [2.1972, 2.1972]),
        (5, [3.892, 1.695, 3.584]),
        (10, [11.083, 6.341, 4.170, 3.038, 3.780, 4.595, 5.607, 7.167]),
    ],
)
def test_derived_budgets_are_the_printed_ones(k: int, budgets: list[float]) -> None:
    derived = [derived_budget(k, c0) for c0 in range(2, k)]
    assert derived == pytest.approx(budgets, abs=5e-4)


@pytest.mark.parametrize("k", [4, 5, 10, 50, 200])
def test_the_ends_have_budgets_in_closed_form(k: int) -> None:
    assert derived_budget(k, 2) == pytest.approx(2.0 * log(2 ** (k - 2) - 1), abs=1e-9)
    assert derived_budget(k, k - 1) == pytest.approx(2.0 * log((k - 1) * (k - 2) / 2), abs=1e-9)


@pytest.mark.parametrize("k", range(3, 201))
def test_budgets_fall_and_then_grow(k: int) -> None:
    budgets = np.array([derived_budget(k, c0) for c0 in range(2, k)])
    lowest = int(np.argmin(budgets))
    assert (np.diff(budgets[: lowest + 1]) < 1e-12).all()
    assert (np.diff(budgets[lowest:]) > -1e-12).all()


SMALLEST = {
    3: (0.0, 2),
    4: (2.197, 3),
    5: (1.695, 3),
    6: (2.546, 3),
    7: (2.562, 4),
    8: (2.716, 4),
    10: (3.038, 5),
    12: (3.516, 6),
    16: (3.784, 7),
    20: (4.317, 8),
    30: (4.926, 11),
    50: (5.653, 17),
    100: (6.728, 29),
    200: (7.847, 50),
}


@pytest.mark.parametrize("k", SMALLEST)
def test_smallest_budgets_are_the_printed_ones(k: int) -> None:
    budget, c0 = smallest_budget(k)
    assert (round(budget, 3), c0) == SMALLEST[k]


@pytest.mark.parametrize(
    ("k", "first", "last"),
    [(20, 24.953, 10.283), (50, 66.542, 14.140), (100, 135.857, 16.974), (200, 274.486, 19.777)],
)
def test_budgets_at_the_ends_are_the_printed_ones(k: int, first: float, last: float) -> None:
    assert derived_budget(k, 2) == pytest.approx(first, abs=5e-4)
    assert derived_budget(k, k - 1) == pytest.approx(last, abs=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "largest"), [(2.0, 5), (3.0, 8), (4.0, 16), (5.0, 33), (6.0, 63), (7.0, 119)]
)
def test_the_largest_window_of_a_budget_is_the_printed_one(epsilon: float, largest: int) -> None:
    assert largest_window(epsilon) == largest


@pytest.mark.parametrize(("k", "c0"), [(3, 2), (6, 3), (10, 7), (40, 11)])
def test_chances_of_free_slots_are_ratios_of_stirling_numbers(k: int, c0: int) -> None:
    chances = free_chances(k, c0)
    for n in range(1, k + 1):
        for z in range(1, min(n, c0) + 1):
            exact = Fraction(stirling(n - 1, z - 1), stirling(n, z))
            assert chances[n, z] == pytest.approx(float(exact), rel=1e-13, abs=0.0)


# Expected costs: the tables of the specification, and where one mechanism overtakes another.


TM, ETM, BPM, FPM = (
    "threshold_perturbation",
    "extended_threshold_perturbation",
    "backward_perturbation",
    "forward_perturbation",
)

TABLE = [
    (10, 1, 9.122, 13.089, 8),
    (10, 2, 8.753, 7.589, 6),
    (10, 3, 8.172, 5.069, 5),
    (10, 4, 7.321, 4, 6),
    (10, 5, 6.200, 3, 7),
    (10, 6, 4.915, 2, 8),
    (10, 8, 2.546, 1, 9),
    (10, 10, 1.096, 1, 9),
    (10, 12, 0.429, 1, 9),
    (10, 16, 0.060, 1, 9),
    (50, 1, 49.128, 69.173, 39),
    (50, 2, 48.739, 53.453, 32),
    (50, 3, 48.098, 43.033, 26),
    (50, 4, 47.051, 37.617, 22),
    (50, 5, 45.363, 34.322, 19),
    (50, 6, 42.721, 31, 19),
    (50, 8, 33.533, 17, 33),
    (50, 10, 20.665, 8, 42),
    (50, 12, 9.991, 3, 47),
    (50, 16, 1.598, 1, 49),
    (20, 5, 15.660, 10, 10),
    (40, 5, 35.406, 26.289, 15),
    (80, 5, 75.308, 58.417, 30),
    (160, 5, 155.274, 122.221, 59),
]


@pytest.mark.parametrize(("k", "epsilon", "baselines", "threshold", "c0"), TABLE)
def test_costs_are_the_printed_ones(
    k: int, epsilon: float, baselines: float, threshold: float, c0: int
) -> None:
    costs = Costs(float(k), float(k), float(k))
    totals = choose(k, epsilon, costs, calibrate="nominal").totals
    assert totals[BPM] == pytest.approx(baselines, abs=5e-4)
    assert totals[FPM] == totals[BPM]
    kind = TM if select(k, epsilon).acceptance == 1.0 else ETM
    assert totals[kind] == pytest.approx(threshold, abs=5e-4)
    assert select(k, epsilon).c0 == c0
    assert len(totals) == 3


@pytest.mark.parametrize(
    ("costs", "backward", "forward"),
    [
        (Costs(20, 20, 20), 15.660, 15.660),
        (Costs(4, 20, 20), 10.412, 10.412),
        (Costs(40, 20, 20), 22.220, 22.220),
        (Costs(20, 4, 20), 10.412, 15.660),
        (Costs(20, 40, 20), 22.220, 15.660),
        (Costs(20, 20, 4), 15.660, 10.412),
        (Costs(20, 20, 40), 15.660, 22.220),
    ],
)
def test_each_cost_weighs_on_who_causes_it(costs: Costs, backward: float, forward: float) -> None:
    totals = choose(20, 5.0, costs, calibrate="nominal").totals
    assert totals[TM] == 10.0
    assert totals[BPM] == pytest.approx(backward, abs=5e-4)
    assert totals[FPM] == pytest.approx(forward, abs=5e-4)


def test_the_parts_of_the_costs_are_the_printed_ones() -> None:
    backward = BackwardPerturbation(k=20, epsilon=5.0)
    forward = ForwardPerturbation(k=20, epsilon=5.0, calibrate="nominal")
    assert backward.none == pytest.approx(0.390684, abs=5e-7)
    assert backward.expected.missing == pytest.approx(0.328008, abs=5e-7)
    assert backward.expected.delay == pytest.approx(2.539757, abs=5e-7)
    assert backward.expected.repeated == forward.expected.empty == forward.expected.missing
    assert backward.expected.empty == forward.expected.repeated == 0.0


@pytest.mark.parametrize(
    ("k", "first", "last"),
    [
        (5, 1.39, 6.98),
        (10, 1.85, 10.20),
        (20, 2.06, 13.18),
        (50, 2.34, 16.96),
        (100, 2.47, 19.77),
        (200, 2.49, 22.56),
    ],
)
def test_threshold_mechanisms_are_cheaper_within_the_printed_budgets(
    k: int, first: float, last: float
) -> None:
    def cheaper(epsilon: float) -> bool:
        totals = choose(k, epsilon, Costs(float(k), float(k), float(k))).totals
        return min(totals.get(TM, k), totals.get(ETM, k)) < totals[BPM]

    assert [cheaper(first + by) for by in (-0.006, 0.006)] == [False, True]
    assert [cheaper(last + by) for by in (-0.006, 0.006)] == [True, False]
    inside = [first + 0.006 + (last - first - 0.012) * share / 60 for share in range(61)]
    assert all(map(cheaper, inside))
