"""From a temporal operator section to one of the four mechanisms."""

from typing import Any

from dataflows.operator_sections import TemporalOperator
from operators.temporal.backward import BackwardPerturbation
from operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from operators.temporal.forward import ForwardPerturbation
from operators.temporal.selection import Choice, choose, select_by_cost
from operators.temporal.temporal_perturbation import TemporalPerturbation
from operators.temporal.threshold import ThresholdPerturbation


def temporal_mechanism(operator: TemporalOperator) -> TemporalPerturbation:
    """The mechanism that the section names, or the cheapest one that it allows."""
    kind: str = operator.kind
    threshold, acceptance = operator.threshold, operator.acceptance
    epsilon = None if operator.epsilon is None else float(operator.epsilon)
    common: dict[str, Any] = {
        "k": operator.window,
        "warm_up": operator.warm_up,
        "empty": operator.empty,
    }
    if kind == "temporal_perturbation":
        choice = _choice(operator)
        kind = choice.kind
        if choice.threshold is not None:
            threshold, acceptance = choice.threshold.c0, choice.threshold.acceptance
    if kind == "backward_perturbation":
        return BackwardPerturbation(epsilon=_given(epsilon), **common)
    if kind == "forward_perturbation":
        calibrate = operator.calibrate
        return ForwardPerturbation(epsilon=_given(epsilon), calibrate=calibrate, **common)
    common["start_mode"] = operator.start
    if kind == "threshold_perturbation":
        if threshold is None:
            return ThresholdPerturbation.for_budget(epsilon=_given(epsilon), **common)
        return ThresholdPerturbation(c0=threshold, epsilon=epsilon, **common)
    if threshold is None and operator.extended_by == "cost":
        cheapest = select_by_cost(
            operator.window, _given(epsilon), operator.costs.of(operator.window)
        )
        threshold, acceptance = cheapest.c0, cheapest.acceptance
    if threshold is None:
        return ExtendedThresholdPerturbation.for_budget(epsilon=_given(epsilon), **common)
    return ExtendedThresholdPerturbation(
        c0=threshold, acceptance=_given(acceptance), epsilon=epsilon, **common
    )


def _choice(operator: TemporalOperator) -> Choice:
    return choose(
        operator.window,
        _given(operator.epsilon),
        operator.costs.of(operator.window),
        no_missing="no_missing" in operator.require,
        no_repeat="no_repeat" in operator.require,
        no_empty="no_empty" in operator.require,
        by_cost=operator.extended_by == "cost",
    )


def _given(number: float | None) -> float:
    if number is None:
        raise ValueError("epsilon: is required; add it")
    return float(number)
