"""From an aggregate section to a mechanism, and to what a record contributes."""

from dataflows.aggregates.contributions import Contributions
from dataflows.codec.alphabet import Alphabet
from dataflows.codec.numbers import Numbers
from dataflows.operator_sections.aggregates import AggregateOperator, MarkovFlags, ReleasedFlags
from operators.mechanism import Mechanism
from operators.wevent.budget_absorption import BudgetAbsorption
from operators.wevent.budget_distribution import BudgetDistribution
from operators.wevent.flags import Flags, Markov, Released, Schedule
from operators.wevent.pba import PrivacyBudgetAllocation
from operators.wevent.sample import Sample
from operators.wevent.strategy import Strategy
from operators.wevent.uniform import Uniform

_PLAIN: dict[str, type[Strategy]] = {
    strategy.kind: strategy for strategy in (Uniform, Sample, BudgetDistribution, BudgetAbsorption)
}


def aggregate_mechanism(operator: AggregateOperator) -> Mechanism:
    """The strategy that the section names."""
    common = (operator.group_count, operator.window, float(operator.epsilon), operator.sensitivity)
    if operator.kind == "pba":
        return PrivacyBudgetAllocation(*common, flags=_flags(operator.flags))
    return _PLAIN[operator.kind](*common)


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


def contributions(operator: AggregateOperator, field: str) -> Contributions:
    """`field` holds the group, where there are groups."""
    groups = None
    if operator.groups is not None:
        groups = Alphabet(field, operator.groups, other=operator.other)
    if operator.sum is None:
        return Contributions(groups, None)
    amounts = operator.sum
    return Contributions(
        groups,
        Numbers(amounts.field, units_per_one=amounts.units_per_one),
        lower=amounts.in_units(amounts.lower),
        upper=amounts.in_units(amounts.upper),
    )
