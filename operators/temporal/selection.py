"""The choice of parameters, and of a mechanism, for a budget and given costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.temporal import dispatch_law as expected
from fugu.operators.temporal.dispatch_law import (
    LARGEST_K,
    SMALLEST_K,
    Costs,
    delay_law,
    early_ratios,
    largest_ratio_within,
    largest_window,
    late_ratios,
    smallest_budget,
)
from fugu.operators.temporal.random_delays import Calibrate, calibrated, can_be_calibrated, lag_law

PREFERENCE = (
    "threshold_perturbation",
    "extended_threshold_perturbation",
    "backward_perturbation",
    "forward_perturbation",
)
"""The order in which kinds are chosen that cost the same."""


@dataclass(frozen=True)
class Threshold:
    """Hold parameters of the threshold mechanism (acceptance 1), or of the extended one."""

    c0: int
    acceptance: float


@dataclass(frozen=True)
class Choice:
    """Name the cheapest kind, with the cost of every kind that may be chosen, and parameters."""

    kind: str
    totals: Mapping[str, float]
    threshold: Threshold | None


def select(k: int, epsilon: float) -> Threshold:
    """Find the largest c0 whose derived budget is within epsilon.

    If there is none, find the smallest c0 that some acceptance brings within it, and the largest
    such acceptance.

    >>> select(10, 5.0), select(10, 1.0).acceptance < 0.1
    (Threshold(c0=7, acceptance=1.0), True)

    Source: TLDP specification, section 4; Ye et al. 2021, Algorithm 2 (replaced).
    """
    _check(k, epsilon)
    limit = largest_ratio_within(epsilon)
    early, late = early_ratios(k), late_ratios(k)
    feasible = np.flatnonzero((early <= limit) & (late <= limit))
    if len(feasible):
        return Threshold(int(feasible[-1]) + 2, 1.0)
    c0 = int(np.argmax(late <= limit)) + 2
    return Threshold(c0, exact_exp(epsilon / 2.0) / float(early[c0 - 2]))


def select_by_cost(k: int, epsilon: float, costs: Costs) -> Threshold:
    """Find the cheapest c0 and acceptance within epsilon; of two, the smaller c0."""
    _check(k, epsilon)
    limit = largest_ratio_within(epsilon)
    early, late = early_ratios(k), late_ratios(k)
    found = []
    for c0 in (np.flatnonzero(late <= limit) + 2).tolist():
        ratio = float(early[c0 - 2])
        acceptance = 1.0 if ratio <= limit else exact_exp(epsilon / 2.0) / ratio
        found.append(Threshold(c0, acceptance))
    return min(found, key=lambda one: costs.of(_threshold(k, one)))


def choose(
    k: int,
    epsilon: float,
    costs: Costs,
    *,
    no_missing: bool = False,
    no_repeat: bool = False,
    no_empty: bool = False,
    by_cost: bool = False,
    calibrate: Calibrate = "visible",
) -> Choice:
    """Find the mechanism with the smallest expected cost that keeps epsilon and the constraints.

    `by_cost`: the extended mechanism gets the parameters of `select_by_cost`, even where the plain
    one would do. `calibrate`: what epsilon is that of, for the forward one; with "nominal", the
    delays that are seen of it have a larger one. Raises `ValueError` where nothing is left.

    >>> choose(20, 5.0, Costs(missing=20, repeated=20, empty=20)).kind
    'threshold_perturbation'
    >>> choose(20, 4.0, Costs(), no_missing=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: epsilon: 4 nats are below the smallest budget that can be derived with k = 20, ...

    Source: TLDP specification, sections 2 and 8.
    """
    selected = select(k, epsilon)
    extended = select_by_cost(k, epsilon, costs) if by_cost else selected
    thresholds = {
        kind: threshold
        for kind, threshold, fits in (
            (PREFERENCE[0], selected, selected.acceptance == 1.0),
            (PREFERENCE[1], extended, extended.acceptance < 1.0),
        )
        if fits
    }
    totals = {kind: costs.of(_threshold(k, one)) for kind, one in thresholds.items()}
    totals[PREFERENCE[2]] = costs.of(expected.backward(k, *lag_law(k, epsilon)))
    nominal = calibrate == "nominal"
    if nominal or can_be_calibrated(k, epsilon):
        lag = lag_law(k, epsilon if nominal else calibrated(k, epsilon))
        totals[PREFERENCE[3]] = costs.of(expected.forward(k, *lag))
    excluded = {
        *(PREFERENCE[1:] if no_missing else ()),
        *(PREFERENCE[2:3] if no_repeat else ()),
        *(PREFERENCE[1::2] if no_empty else ()),
    }
    allowed = {kind: totals[kind] for kind in PREFERENCE if kind in totals.keys() - excluded}
    if not allowed:
        raise ValueError(f"epsilon: {infeasible(k, epsilon)}")
    kind = min(allowed, key=lambda name: allowed[name])
    return Choice(kind, allowed, thresholds.get(kind))


def infeasible(k: int, epsilon: float) -> str:
    """Tell what to do where no c0 has a derived budget within epsilon."""
    smallest, _ = smallest_budget(k)
    return (
        f"{epsilon:g} nats are below the smallest budget that can be derived with k = {k}, which "
        f"is {smallest:.6g}. Raise epsilon to that, or choose a smaller k: with {epsilon:g} nats, "
        f"k can be {largest_window(epsilon)} at most."
    )


def smaller_k_is_better(epsilon: float) -> str:
    """Tell what usually serves better than the extended mechanism."""
    return (
        "A smaller k is usually the better answer to a small epsilon: threshold_perturbation drops "
        f"nothing, and with {epsilon:g} nats its k can be {largest_window(epsilon)} at most."
    )


def _check(k: int, epsilon: float) -> None:
    if not SMALLEST_K <= k <= LARGEST_K:
        raise ValueError(f"k: must be a whole number of ticks, {SMALLEST_K} to {LARGEST_K}")
    if not isfinite(epsilon) or epsilon <= 0.0:
        raise ValueError(f"epsilon: must be a number above 0, not {epsilon}")


def _threshold(k: int, one: Threshold) -> expected.Expected:
    undelayed = float(delay_law(k, one.c0)[0])
    return expected.threshold(k, one.c0, undelayed, one.acceptance)
