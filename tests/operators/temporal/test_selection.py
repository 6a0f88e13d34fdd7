"""Parameters for a budget, mechanisms for costs, and what is said where there are none."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, inf, log, nan
from typing import Any

import pytest

from fugu.operators.temporal.dispatch_law import Costs, delay_law, derived_budget, late_ratios
from fugu.operators.temporal.random_delays import (
    BackwardPerturbation,
    ForwardPerturbation,
    RandomLag,
    calibrated,
)
from fugu.operators.temporal.selection import Threshold, choose, select, select_by_cost
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation

TM, ETM, BPM, FPM = (
    "threshold_perturbation",
    "extended_threshold_perturbation",
    "backward_perturbation",
    "forward_perturbation",
)


@pytest.mark.parametrize(
    ("k", "epsilon", "c0"),
    [
        (10, derived_budget(10, 7), 7),
        (10, derived_budget(10, 2), 9),
        (10, 1000.0, 9),
        (3, 1e-6, 2),
        (3, 1.0, 2),
        (4, 3.0, 3),
        (4, derived_budget(4, 2), 3),
        (5, derived_budget(5, 3), 3),
    ],
)
def test_the_threshold_mechanism_gets_the_largest_c0_that_fits(
    k: int, epsilon: float, c0: int
) -> None:
    assert select(k, epsilon) == Threshold(c0, 1.0)
    assert ThresholdPerturbation.for_budget(k, epsilon).c0 == c0


EXTENDED = [
    (5, 1.0, 4, 0.274787),
    (10, 1.0, 8, 0.099923),
    (10, 2.0, 6, 0.410617),
    (10, 3.0, 5, 0.981127),
    (20, 2.0, 13, 0.145526),
    (50, 3.0, 26, 0.141520),
    (50, 5.0, 19, 0.623423),
]


@pytest.mark.parametrize(("k", "epsilon", "c0", "acceptance"), EXTENDED)
def test_the_extended_mechanism_gets_the_printed_c0_and_acceptance(
    k: int, epsilon: float, c0: int, acceptance: float
) -> None:
    selected = select(k, epsilon)
    assert (selected.c0, round(selected.acceptance, 6)) == (c0, acceptance)
    extended = ExtendedThresholdPerturbation.for_budget(k, epsilon)
    assert extended.delay_law_epsilon == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("k", [3, 4, 5, 6, 17, 200])
def test_there_are_always_parameters(k: int, epsilon: float) -> None:
    selected = select(k, epsilon)
    assert 2 <= selected.c0 < k
    assert 0.0 < selected.acceptance <= 1.0
    assert late_ratios(k)[-1] == 1.0


def test_the_cheapest_parameters_may_drop_values_although_none_has_to_be() -> None:
    costs = Costs(missing=20.0, repeated=20.0, empty=20.0)
    cheapest = select_by_cost(20, 5.0, costs)
    assert cheapest.c0 == 11
    assert cheapest.acceptance < 1.0
    by_cost = choose(20, 5.0, costs, by_cost=True)
    assert (by_cost.kind, round(by_cost.totals[ETM], 2), by_cost.totals[TM]) == (ETM, 9.53, 10.0)
    assert by_cost.threshold == cheapest
    assert choose(20, 5.0, costs).threshold == Threshold(10, 1.0)


@pytest.mark.parametrize("missing", [0.0, 0.5, 3.0, 10.0, 1000.0])
@pytest.mark.parametrize(("k", "epsilon"), [(10, 2.0), (10, 4.0), (20, 5.0)])
def test_the_cheapest_parameters_are_found_among_all(
    k: int, epsilon: float, missing: float
) -> None:
    costs, totals = Costs(missing=missing, empty=missing), {}
    for c0 in range(2, k):
        law = delay_law(k, c0)
        if 2.0 * log(law[-1] / law[1]) <= epsilon:
            acceptance = min(1.0, exp(epsilon / 2.0) * law[1] / law[0])
            totals[c0] = k - c0 + law[0] * (1.0 - acceptance) * 2.0 * missing
    chosen = select_by_cost(k, epsilon, costs)
    assert chosen.c0 == min(totals, key=lambda c0: totals[c0])


@pytest.mark.parametrize(
    ("epsilon", "constraints", "kind"),
    [
        (5.0, {}, TM),
        (12.0, {}, BPM),
        (12.0, {"no_repeat": True}, TM),
        (20.0, {"no_repeat": True}, FPM),
        (12.0, {"no_empty": True}, BPM),
        (12.0, {"no_repeat": True, "no_empty": True}, TM),
        (12.0, {"no_missing": True}, TM),
        (2.5, {}, ETM),
        (2.5, {"no_empty": True}, BPM),
        (1.0, {}, BPM),
        (1.0, {"no_repeat": True}, ETM),
    ],
)
def test_the_cheapest_kind_that_keeps_the_constraints_is_chosen(
    epsilon: float, constraints: dict[str, Any], kind: str
) -> None:
    costs = Costs(missing=10.0, repeated=10.0, empty=10.0)
    chosen = choose(10, epsilon, costs, **constraints)
    assert chosen.kind == kind
    assert chosen.totals[kind] == min(chosen.totals.values())
    assert (chosen.threshold is not None) == (kind in (TM, ETM))


def test_two_kinds_of_one_cost_come_in_a_fixed_order() -> None:
    """BPM and FPM cost the same where repeated and empty values do."""
    costs = Costs(missing=3.0, repeated=7.0, empty=7.0)
    chosen = choose(10, 12.0, costs, calibrate="nominal")
    assert chosen.totals[BPM] == chosen.totals[FPM]
    assert chosen.kind == BPM


@pytest.mark.parametrize(
    "constraints", [{"no_missing": True}, {"no_repeat": True, "no_empty": True}]
)
def test_without_a_candidate_the_smallest_budget_and_the_largest_k_are_named(
    constraints: dict[str, Any],
) -> None:
    said = r"epsilon: 4 nats .* k = 20, which is 4\.31711\. Raise .* smaller k: .* 16 at most"
    with pytest.raises(ValueError, match=said):
        choose(20, 4.0, Costs(), **constraints)
    with pytest.raises(ValueError, match=said):
        ThresholdPerturbation.for_budget(20, 4.0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, nan, inf])
def test_a_budget_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon: "):
        select(10, epsilon)
    with pytest.raises(ValueError, match="epsilon: "):
        choose(10, epsilon, Costs())


@pytest.mark.parametrize("k", [2, 0, -1, 1001])
def test_a_window_that_is_none_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="k: "):
        select(k, 1.0)


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("missing", -1.0),
        ("missing", inf),
        ("repeated", nan),
        ("empty", -0.1),
        ("delay", 0.0),
        ("delay", -1.0),
        ("delay", inf),
    ],
)
def test_a_cost_that_is_none_is_refused_naming_it(name: str, cost: float) -> None:
    with pytest.raises(ValueError, match=f"^{name}: "):
        Costs(**{name: cost})


def test_a_c0_whose_law_is_beyond_the_budget_is_refused() -> None:
    said = r"epsilon: the law of k = 10 and c0 = 9 has a budget of 7\.16704"
    with pytest.raises(ValueError, match=said):
        ThresholdPerturbation(k=10, c0=9, epsilon=5.0)
    with pytest.raises(ValueError, match=r"epsilon: the law"):
        ExtendedThresholdPerturbation(k=10, c0=9, acceptance=0.9, epsilon=5.0)
    assert ThresholdPerturbation(k=10, c0=7, epsilon=derived_budget(10, 7)).c0 == 7


def exact_epsilon(mechanism: RandomLag) -> Decimal:
    """Twice the logarithm of the largest ratio, of the words that are drawn, to 40 digits."""
    odds = mechanism.odds
    none, each = (Fraction(words, 2**64) for words in (odds.favoured, odds.each))
    law = [none, *[each] * (mechanism.k - 1)]
    if isinstance(mechanism, ForwardPerturbation):
        law = [none] + [each * (1 - none) * (1 - each) ** j for j in range(mechanism.k - 1)]
    ratio = max(law) / min(law)
    with localcontext() as context:
        context.prec = 40
        return 2 * (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


@pytest.mark.parametrize("epsilon", [2.0, 2.1, 3.3, 4.0, 7.7, 20.0, 49.9])
@pytest.mark.parametrize("k", [2, 3, 10, 20, 100])
def test_the_epsilon_of_the_words_drawn_is_never_above_the_declared_one(
    k: int, epsilon: float
) -> None:
    for mechanism in (
        BackwardPerturbation(k=k, epsilon=epsilon),
        ForwardPerturbation(k=k, epsilon=epsilon),
    ):
        exact = exact_epsilon(mechanism)
        assert exact <= Decimal(epsilon)
        assert float(exact) == pytest.approx(mechanism.delay_law_epsilon, abs=1e-12)
        assert mechanism.guarantees()[0].epsilon <= epsilon
        if epsilon < 20.0:
            assert exact > Decimal(epsilon) - Decimal("1e-9")


@pytest.mark.parametrize("constraints", [{}, {"no_repeat": True}, {"no_empty": True}])
@pytest.mark.parametrize("costs", [Costs(), Costs(20, 20, 20), Costs(0, 0, 0), Costs(0, 90, 0)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("k", [3, 10, 20])
def test_whatever_is_chosen_has_the_declared_epsilon_at_most(
    k: int, epsilon: float, costs: Costs, constraints: dict[str, Any]
) -> None:
    """k = 20, epsilon 4 and no_repeat once chose a forward perturbation with 6.048 nats."""
    chosen = choose(k, epsilon, costs, **constraints)
    for kind in chosen.totals:
        if kind == BPM:
            exact = BackwardPerturbation(k=k, epsilon=epsilon).delay_law_epsilon
        elif kind == FPM:
            exact = ForwardPerturbation(k=k, epsilon=epsilon).delay_law_epsilon
            assert calibrated(k, epsilon) < epsilon
        elif kind == TM:
            exact = ThresholdPerturbation.for_budget(k, epsilon).delay_law_epsilon
        else:
            exact = ExtendedThresholdPerturbation.for_budget(k, epsilon).delay_law_epsilon
        assert exact <= epsilon + 1e-9
