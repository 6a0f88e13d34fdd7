"""From an aggregate section to a mechanism, and to what a record contributes."""

from dataflows.aggregates.contributions import Contributions
from dataflows.codec.alphabet import Alphabet
from dataflows.codec.numbers import Numbers
from dataflows.operator_sections import AggregateOperator
from operators.mechanism import Mechanism


def aggregate_mechanism(operator: AggregateOperator) -> Mechanism:
    """The strategy that the section names."""
    raise NotImplementedError


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
