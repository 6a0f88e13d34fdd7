"""Exchange two values, and ask what all releases together say: G2, and why it is no DP."""

from functools import cache
from itertools import combinations, product
from math import log

import numpy as np
import pytest

from fugu.operators.temporal.dispatch_law import largest_ratios
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.privacy.temporal.outputs import Outputs
from tests.privacy.temporal.paths import Paths, merged, steady

THRESHOLDS = [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4)]


def outputs(mechanism: TemporalPerturbation) -> Outputs:
    """Return outputs of distinct values, at all ticks at which those of ticks 1 to k can leave."""
    ticks = range(1, 2 * mechanism.k)
    return Outputs.of(steady(mechanism).after([b"%d" % tick for tick in ticks]))


def shares_and_ratios(found: Outputs, distances: range) -> tuple[list[float], set[float]]:
    """For the value of tick 1 and the one so many ticks later."""
    compared = [found.compared_with(found.swapped(1, 1 + d)) for d in distances]
    return (
        [share for share, _ in compared],
        {float(abs(ratio)) for _, ratios in compared for ratio in ratios.round(9)},
    )


@pytest.mark.parametrize(("k", "c0"), THRESHOLDS)
def test_likelihoods_change_by_nothing_or_by_c0_or_become_impossible(k: int, c0: int) -> None:
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    shares, ratios = shares_and_ratios(outputs(mechanism), range(1, k))
    bound = mechanism.audit()["joint_bound_distinct"]
    assert bound == log(c0)
    assert ratios <= {0.0, round(log(c0), 9)}
    assert max(ratios) == round(log(c0), 9)
    assert shares[-1] == pytest.approx(1.0)
    assert_stated(mechanism, shares)


def assert_stated(mechanism: TemporalPerturbation, shares: list[float]) -> None:
    """The audit has these shares; it once had a lower bound of them."""
    stated = mechanism.audit()["impossible_share"]
    assert isinstance(stated, dict)
    assert list(stated) == [str(distance) for distance in range(1, mechanism.k)]
    assert list(stated.values()) == pytest.approx(shares, abs=1e-12)


def test_an_epsilon_of_0_does_not_make_outputs_alike() -> None:
    """k = 3, c0 = 2: half of all outputs are impossible after a swap, the others change by 2."""
    found = outputs(ThresholdPerturbation(k=3, c0=2))
    share, ratios = found.compared_with(found.swapped(1, 2))
    assert share == pytest.approx(0.5)
    assert np.abs(ratios) == pytest.approx(log(2.0))


IMPOSSIBLE = [
    (5, 3, {1: 0.440, 2: 0.653, 3: 0.840, 4: 1.0}),
    (10, 5, {1: 0.314, 2: 0.454, 3: 0.574, 5: 0.761, 9: 1.0}),
    (10, 7, {1: 0.490, 2: 0.567, 3: 0.640, 5: 0.774, 9: 1.0}),
]


@pytest.mark.parametrize(("k", "c0", "printed"), IMPOSSIBLE)
def test_shares_of_impossible_outputs_are_the_printed_ones(
    k: int, c0: int, printed: dict[int, float]
) -> None:
    shares = [impossible_share(ThresholdPerturbation(k=k, c0=c0), d) for d in range(1, k)]
    for distance, share in printed.items():
        assert shares[distance - 1] == pytest.approx(share, abs=5e-4)
    assert_stated(ThresholdPerturbation(k=k, c0=c0), shares)


@pytest.mark.parametrize(("k", "c0"), THRESHOLDS)
def test_an_output_is_possible_if_both_values_could_have_left_when_they_did(
    k: int, c0: int
) -> None:
    """The share by enumeration is the one that only two delays decide."""
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    shares, _ = shares_and_ratios(outputs(mechanism), range(1, k))
    expected = [impossible_share(mechanism, distance) for distance in range(1, k)]
    assert shares == pytest.approx(expected, abs=1e-12)


def impossible_share(mechanism: ThresholdPerturbation, distance: int) -> float:
    """1 - P(the first one leaves no sooner than the second one came, and that one within k ticks of
    the first)."""
    late = not_before(steady(mechanism).after([b"1"]), distance)
    for _ in range(distance - 1):
        late = merged(late.after([b"2"]))
    soon = not_before(late.after([b"1"]), mechanism.k - distance)
    return 1.0 - float(late.weight.sum() - soon.weight.sum())


def not_before(paths: Paths, ticks: int) -> Paths:
    """Those whose last value, 1, waits at least so long; merged."""
    k, tick = paths.mechanism.k, paths.state["tick"][0] - 1
    waits = np.zeros(len(paths.weight), dtype=np.int64)
    path, slot = np.nonzero(paths.state["slots"] == b"1")
    waits[path] = (slot - tick) % k
    return merged(
        Paths(
            paths.mechanism,
            paths.state,
            np.where(waits >= ticks, paths.weight, 0.0),
            paths.released,
        )
    )


@pytest.mark.parametrize(("k", "c0"), [(6, 4), (9, 3), (9, 8), (12, 6), (12, 9)])
def test_the_audit_has_the_exact_shares_of_larger_windows(k: int, c0: int) -> None:
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    assert_stated(mechanism, [impossible_share(mechanism, distance) for distance in range(1, k)])


@pytest.mark.parametrize("acceptance", [0.3, 0.9])
@pytest.mark.parametrize(("k", "c0"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4)])
def test_the_shares_of_the_extended_mechanism_are_exact_too(
    k: int, c0: int, acceptance: float
) -> None:
    mechanism = ExtendedThresholdPerturbation(k=k, c0=c0, acceptance=acceptance)
    shares, _ = shares_and_ratios(outputs(mechanism), range(1, k))
    assert_stated(mechanism, shares)


@pytest.mark.parametrize(("k", "epsilon"), [(4, 1.0), (5, 1.0), (5, 1.5)])
def test_an_extended_mechanism_changes_likelihoods_by_c0_times_acceptance(
    k: int, epsilon: float
) -> None:
    mechanism = ExtendedThresholdPerturbation.for_budget(k, epsilon)
    shares, ratios = shares_and_ratios(outputs(mechanism), range(1, k))
    bound = abs(log(mechanism.c0 * mechanism.acceptance))
    assert ratios == {0.0, round(bound, 9)}
    assert mechanism.audit()["joint_bound_distinct"] == pytest.approx(bound)
    assert_stated(mechanism, shares)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("k", [3, 4])
def test_backward_perturbation_makes_a_known_share_impossible(k: int, epsilon: float) -> None:
    mechanism = BackwardPerturbation(k=k, epsilon=epsilon)
    shares, ratios = shares_and_ratios(outputs(mechanism), range(1, k))
    stated = mechanism.audit()["impossible_share"]
    assert isinstance(stated, dict)
    assert shares == pytest.approx(list(stated.values()), rel=1e-9)
    assert max(ratios) == pytest.approx(epsilon / 2.0, abs=1e-8)
    assert mechanism.audit()["joint_bound_distinct"] == epsilon / 2.0


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("k", [3, 4, 5])
def test_forward_perturbation_changes_likelihoods_by_more_than_its_epsilon(
    k: int, epsilon: float
) -> None:
    mechanism = ForwardPerturbation(k=k, epsilon=epsilon, calibrate="nominal", warm_up="emit")
    paths = Paths(mechanism, mechanism.start(1), np.ones(1), np.zeros((1, 0), dtype=np.int64))
    found = Outputs.of(paths.after([b"%d" % tick for tick in range(1, 7)]).cooled_down())
    largest = max(
        float(np.abs(ratios).max())
        for i, j in combinations(range(1, 7), 2)
        if j - i < k
        for _, ratios in [found.compared_with(found.swapped(i, j))]
        if len(ratios)
    )
    assert largest == pytest.approx(epsilon / 2.0 + (k - 2) * log(2.0), abs=1e-9)
    assert mechanism.audit()["joint_bound_distinct"] is None


@cache
def binary_series() -> dict[tuple[int, ...], Outputs]:
    """k = 4, c0 = 3; seven values of two kinds among distinct ones."""
    ticks = range(1, 11)
    paths = steady(ThresholdPerturbation(k=4, c0=3)).after([b"%d" % tick for tick in ticks])
    found, series = Outputs.of(paths), {}
    for bits in product((0, 1), repeat=7):
        labels = np.arange(found.released.max() + 1)
        labels[1:8] = np.array(bits) + 200
        series[bits] = found.relabelled(labels)
    return series


def test_with_repeated_values_even_possible_outputs_change_by_more() -> None:
    """2.773 nats, although the derived epsilon is 2.197 and distinct values change by 1.099."""
    series, largest = binary_series(), 0.0
    for bits, found in series.items():
        for i, j in combinations(range(7), 2):
            if j - i < 4 and bits[i] < bits[j]:
                swapped = list(bits)
                swapped[i], swapped[j] = bits[j], bits[i]
                _, ratios = found.compared_with(series[tuple(swapped)])
                largest = max(largest, float(np.abs(ratios).max(initial=0.0)))
    assert largest == pytest.approx(2.773, abs=5e-4)
    assert largest > ThresholdPerturbation(k=4, c0=3).delay_law_epsilon


def test_the_bound_on_possible_outputs_is_within_the_derived_epsilon_from_k_of_4_on() -> None:
    for k in range(4, 201):
        assert (np.log(np.arange(2, k)) <= 2.0 * np.log(largest_ratios(k))).all()
    assert log(2) > ThresholdPerturbation(k=3, c0=2).delay_law_epsilon


@pytest.mark.parametrize(("k", "epsilon"), [(10, 0.50), (20, 0.72), (50, 0.74)])
def test_small_budgets_of_the_extended_mechanism_warn_that_outputs_say_more(
    k: int, epsilon: float
) -> None:
    def warned(epsilon: float) -> bool:
        warnings = ExtendedThresholdPerturbation.for_budget(k, epsilon).warnings
        return any("more than epsilon" in warning for warning in warnings)

    assert [warned(epsilon - 0.1), warned(epsilon), warned(epsilon + 0.01)] == [True, True, False]
