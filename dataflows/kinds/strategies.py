"""From the section of a w-event strategy to a mechanism."""

from dataclasses import replace
from typing import Any

from fugu.dataflows.kinds.aggregates import DeclaredAggregate, WEventOperator
from fugu.dataflows.kinds.correlation import MarkovFlags, ReleasedFlags
from fugu.operators.budget_units import units_of
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE
from fugu.operators.leakage.inversion import UnboundedLeakage, largest_epsilon
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.binary_tree import BinaryTree
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.cap import Cap
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.flags import Flags, Markov, Released, Schedule
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.sample import Sample
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.uniform import Uniform
from fugu.operators.wevent.watched import Watched

_DECIDING = {"budget_distribution", "budget_absorption", "pba"}
_PLAIN: dict[str, type[Strategy]] = {
    strategy.kind: strategy for strategy in (Uniform, Sample, BudgetDistribution, BudgetAbsorption)
}


def watched(operator: WEventOperator) -> Mechanism:
    """The strategy, whose releases say what correlation gives away if it is declared."""
    correlation = operator.correlation
    try:
        mechanism = aggregate_mechanism(operator)
    except UnboundedLeakage as error:
        raise ValueError(
            f"correlation.at_most: {error} (quantified does, with horizon: T); or delete at_most"
        ) from None
    if correlation is None or not isinstance(mechanism, Strategy):
        return mechanism
    return Watched(mechanism, correlation.known, 2 if doubled(operator) else 1)


def aggregate_mechanism(operator: WEventOperator) -> Mechanism:
    """The strategy that the section names."""
    bins, window, sensitivity = operator.group_count, operator.window, operator.sensitivity
    if operator.epsilon is None:
        return _quantified(operator)
    common = (bins, window, float(operator.epsilon), sensitivity)
    cap, most = _cap(operator, float(operator.epsilon)), operator.largest_contribution
    told = told_of(operator)
    match operator.kind:
        case "pba":
            return PrivacyBudgetAllocation(*common, cap, _flags(operator.flags), **told)
        case "fast":
            return Fast(*common, cap, operator.samples or 0, contribution=most, **told)
        case "rescue_dp":
            process = _process_variance(operator)
            return RescueDp(*common, cap, process, contribution=most, **told)
        case "binary_tree":
            assert operator.horizon is not None
            return BinaryTree(*common, operator.horizon, **told)
        case kind:
            return _PLAIN[kind](*common, cap, **told)


def told_of(operator: DeclaredAggregate) -> dict[str, Any]:
    """Return what the section says about neighbours and ticks: for the promise, not for the law."""
    return {
        "neighbours": PRESENCE if operator.protects == "presence" else CONTRIBUTIONS,
        "tick_milliseconds": operator.in_ticks().width,
    }


def _process_variance(operator: WEventOperator) -> float:
    """In squared units; 0 where the section leaves it to the strategy."""
    units_per_one = 1 if operator.sum is None else operator.sum.units_per_one
    return (operator.process_variance or 0.0) * units_per_one**2


def doubled(operator: WEventOperator) -> bool:
    """Whether a change of a contribution leaks twice what is spent: noise is for its presence."""
    return operator.protects == "presence"


def _quantified(operator: WEventOperator) -> Quantified:
    correlation = operator.correlation
    assert correlation is not None
    assert correlation.at_most is not None
    quantified = Quantified.for_leakage(
        correlation.known,
        float(correlation.at_most),
        bins=operator.group_count,
        window=operator.window,
        sensitivity=operator.sensitivity,
        doubled=doubled(operator),
        horizon=operator.horizon,
    )
    return replace(quantified, **told_of(operator))


def _cap(operator: WEventOperator, epsilon: float) -> Cap | None:
    """What a tick may spend for the leakage about any one of them to stay below the limit."""
    correlation = operator.correlation
    if correlation is None or correlation.at_most is None:
        return None
    largest = largest_epsilon(correlation.known, float(correlation.at_most))
    decides = operator.kind in _DECIDING
    decision = units_of(epsilon) // (2 * operator.window) if decides else 0
    cap = Cap.within(largest, decision, 1 if doubled(operator) else 2)
    return cap if decides else Cap(cap.publication, cap.publication)


def _flags(section: bool | list[bool] | MarkovFlags | ReleasedFlags) -> Flags:
    match section:
        case bool(always):
            return Schedule((always,))
        case list(pattern):
            return Schedule(tuple(pattern))
        case MarkovFlags(matrix=matrix, threshold=threshold):
            return Markov(tuple(tuple(row) for row in matrix), threshold)
        case ReleasedFlags(released=threshold):
            return Released(threshold)
