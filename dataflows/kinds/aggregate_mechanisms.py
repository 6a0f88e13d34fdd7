"""From the section of an aggregate to a mechanism, and to what a record contributes."""

from fugu.dataflows.kinds.aggregates import (
    AggregateOperator,
    DeclaredAggregate,
    WEventOperator,
)
from fugu.dataflows.kinds.policies import PolicyOperator
from fugu.dataflows.kinds.policy_strategies import policy_strategy
from fugu.dataflows.kinds.real_time import RealTimeOperator
from fugu.dataflows.kinds.strategies import told_of, watched
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Values
from fugu.dataflows.records.contributions import Contributions, SetContributions, YesOrNo
from fugu.dataflows.records.numbers import Numbers
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.real_time_release import RealTimeRelease


def mechanism_of(operator: AggregateOperator) -> Mechanism:
    """What turns the figures of ticks into releases."""
    if isinstance(operator, PolicyOperator):
        return policy_strategy(operator)
    if isinstance(operator, RealTimeOperator):
        return RealTimeRelease(
            operator.group_count,
            operator.bin_sensitivity,
            operator.changed_bins,
            **operator.release_parameters(),
            **told_of(operator),
        )
    assert isinstance(operator, WEventOperator)
    return watched(operator)


def contributions(operator: AggregateOperator, field: str) -> Values:
    """`field` holds the group, or what is summed or counted where there are no groups."""
    if isinstance(operator, PolicyOperator):
        return _contributions(operator, field)
    assert isinstance(operator, DeclaredAggregate)
    groups, amounts = None, operator.sum
    if operator.groups is not None:
        groups = Alphabet(field, operator.groups, other=operator.other)
    if amounts is None:
        return Contributions(groups, None)
    return Contributions(
        groups,
        Numbers(amounts.field, units_per_one=amounts.units_per_one),
        lower=amounts.in_units(amounts.lower),
        upper=amounts.in_units(amounts.upper),
    )


def _contributions(operator: PolicyOperator, field: str) -> Values:
    query = operator.query
    match query.kind:
        case "sum":
            numbers = Numbers(field, units_per_one=operator.units_per_one)
            return Contributions(None, numbers, lower=query.lower_units, upper=query.upper_units)
        case "count":
            return Contributions(None, YesOrNo(field))
        case "histogram":
            return Contributions(Alphabet(field, operator.bins, other=operator.other), None)
        case "multi_histogram":
            return SetContributions(Alphabet(field, operator.bins))
