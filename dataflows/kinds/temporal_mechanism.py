"""From a temporal operator section to one of the four mechanisms."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from fugu.dataflows.kinds import TemporalOperator
from fugu.operators.temporal.backward import BackwardPerturbation
from fugu.operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from fugu.operators.temporal.forward import ForwardPerturbation
from fugu.operators.temporal.selection import Choice, choose, select_by_cost
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ThresholdPerturbation

_KEYS: Final = {"k": "window", "c0": "threshold", "start_mode": "start"}
_PARAMETER: Final = re.compile(rf"\b({'|'.join(_KEYS)})\b")


def as_in_the_file(text: str) -> str:
    """Name parameters of a mechanism as the pipeline file does.

    >>> as_in_the_file("c0: must be a whole number, 2 to k - 1, not 9")
    'threshold: must be a whole number, 2 to window - 1, not 9'
    """
    return _PARAMETER.sub(lambda found: _KEYS[found[0]], text)


@contextmanager
def _errors_as_in_the_file() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(as_in_the_file(str(error))) from None


@_errors_as_in_the_file()
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
        calibrate=operator.calibrate,
    )


def _given(number: float | None) -> float:
    if number is None:
        raise ValueError("epsilon: is required; add it")
    return float(number)
