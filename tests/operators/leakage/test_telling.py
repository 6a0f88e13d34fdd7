"""Bounds of releases whose largest spends are known, against every series of spends that may be."""

from dataclasses import replace
from math import ceil, inf

import numpy as np
import pytest

from fugu.operators.leakage.combined import (
    Telling,
    Topology,
    combined,
    combined_after,
    combined_limit,
    together,
)
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.leakage_function import Matrix
from tests.operators.leakage.chains import A, B, C

TOPOLOGIES: list[Topology] = ["parallel", "serial", "disjoint", "independent"]
TICKS = 9


def both(matrix: Matrix) -> TemporalCorrelation:
    """The same matrix in both directions."""
    return TemporalCorrelation.of(matrix, matrix)


def spends(rng: np.random.Generator, telling: Telling) -> list[float]:
    """Some spends within the limits, often as large as they allow."""
    found: list[float] = []
    for _ in range(TICKS):
        rest = [
            nats - sum(found[max(0, len(found) + 1 - window) :])
            for window, nats in (*telling.windows, (TICKS + 1, telling.whole_life))
        ]
        found.append(max(0.0, min(telling.nats, *rest)) * rng.choice([0.0, 0.5, 1.0, 1.0]))
    return found


@pytest.mark.parametrize("matrix", [A, B, C, [[0.9, 0.1], [0.1, 0.9]], [[1.0, 0.0], [0.0, 1.0]]])
@pytest.mark.parametrize("start", ["any", "backward"])
def test_no_spends_within_the_limits_leak_more(matrix: Matrix, start: str) -> None:
    rng = np.random.default_rng(7)
    correlation = both(matrix) if start == "backward" else TemporalCorrelation.of(matrix)
    for _ in range(25):
        windows = [(int(rng.integers(1, 5)), rng.uniform(0.2, 2.0)) for _ in range(rng.integers(3))]
        life = float(rng.choice([inf, 1.5]))
        telling = Telling(correlation, rng.uniform(0.1, 1.5), tuple(windows), life)
        leaked = max(correlation.over(spends(rng, telling)).total)
        assert leaked <= telling.after(TICKS) * (1 + 1e-12)
        assert telling.after(TICKS) <= telling.limit * (1 + 1e-9)


@pytest.mark.parametrize("memoryless", [False, True])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_two_releases_leak_no_more_together_whatever_they_spend(
    topology: Topology, memoryless: bool
) -> None:
    rng, correlation = np.random.default_rng(8), both(C)
    for _ in range(12):
        first, second = (
            Telling(
                correlation,
                rng.uniform(0.1, 1.5),
                ((int(rng.integers(1, 4)), 1.2),),
                life,
                memoryless,
            )
            for life in rng.choice([inf, 1.7], size=2).tolist()
        )
        one, other = spends(rng, first), spends(rng, second)
        each = (correlation, one), (correlation, other)
        leaked = max(combined(topology, *each, memoryless=memoryless).total)
        assert leaked <= combined_after(topology, first, second, TICKS) * (1 + 1e-12)
        assert combined_after(topology, first, second, TICKS) <= (
            combined_limit(topology, first, second) * (1 + 1e-9)
        )


def test_windows_of_reports_bound_their_values_only_if_the_first_release_is_memoryless() -> None:
    correlation = both([[1.0, 0.0], [0.0, 1.0]])
    first, second = Telling(correlation, 1.0), Telling(correlation, 0.5, ((10, 0.5),), 3.0)
    assert combined_after("serial", first, second, 2) == 2.0
    assert combined_limit("serial", first, second) == 3.0
    assert combined_after("serial", replace(first, memoryless=True), second, 2) < 0.5
    assert combined_limit("serial", replace(first, memoryless=True), second) == 3.0


def test_constant_spends_leak_what_the_recursion_says() -> None:
    """So the bound is attained, and the figures of the specification are its figures."""
    telling = Telling(both(C), 0.1)
    assert telling.after(TICKS) == pytest.approx(max(both(C).over([0.1] * TICKS).total), rel=1e-12)
    assert telling.limit == pytest.approx(0.311988, abs=1e-6)
    one = Telling(both(A), 1.0)
    parallel = together("parallel", one, one)
    assert parallel is not None
    assert parallel.after(5) == pytest.approx(max(both(A).over([2.0] * 5).total), rel=1e-12)


def test_a_window_bounds_more_tightly_than_its_largest_tick() -> None:
    window = Telling(both(B), 1.0, ((4, 1.0),))
    assert window.limit < 0.75 * Telling(both(B), 1.0).limit
    identity = Telling(both([[1.0, 0.0], [0.0, 1.0]]), 1.0, ((4, 1.0),))
    assert identity.after(10) == 3.0 == ceil(10 / 4)
    assert identity.limit == inf


def test_a_total_bounds_whatever_the_correlation() -> None:
    limited = Telling(both(A), 1.0, whole_life=3.0)
    assert limited.after(2) == pytest.approx(1.864840, abs=1e-6)
    assert limited.limit == 3.0
    assert combined_limit("parallel", limited, limited) == 6.0
    endless = Telling(both(A), 0.1)
    assert endless.limit == pytest.approx(1.191813, abs=1e-6)
    assert combined_limit("parallel", limited, endless) == pytest.approx(4.191813, abs=1e-6)
