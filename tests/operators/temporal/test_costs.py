"""Expected costs: the tables of the specification, and where one mechanism overtakes another."""

import pytest

from fugu.operators.temporal.backward import BackwardPerturbation
from fugu.operators.temporal.costs import Costs
from fugu.operators.temporal.forward import ForwardPerturbation
from fugu.operators.temporal.selection import choose, select

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
