"""Choose what one person contributes to a tick in one of two neighbouring inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import AggregateOperator, PolicyOperator
from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.operators.guarantee import Neighbours

_BEYOND = 7
"""Say this much more than a range allows, so that a bound that does not hold shows."""


@dataclass(frozen=True)
class Contribution:
    """Hold the fields of a record, and the units that it counts in each group.

    One without fields is `NONE`: a record that counts nothing.
    """

    fields: tuple[tuple[str, Any], ...]
    units: tuple[tuple[int, int], ...]

    def apart(self, other: "Contribution") -> int:
        """Return by how many units (L1) a tick differs if this stands in the place of `other`."""
        one, two = dict(self.units), dict(other.units)
        return sum(abs(one.get(group, 0) - two.get(group, 0)) for group in one.keys() | two)


NONE = Contribution((), ())


def contributions(operator: AggregateOperator, field: str) -> list[Contribution]:
    """Return what a person may contribute, as extreme as it may be; `field` is `source.value`."""
    if isinstance(operator, PolicyOperator):
        return _under_policies(operator, field)
    if not isinstance(operator, DeclaredAggregate):
        raise CannotBeAudited(
            f"fugu audit does not know what records operators of kind {operator.kind} read. Read "
            "fugu explain --json, which has their exact numbers"
        )
    amounts: list[tuple[Mapping[str, Any], int]] = [({}, 1)]
    if operator.sum is not None:
        amounts = [
            ({operator.sum.field: (end + beyond) / operator.units_per_one}, end)
            for end, beyond in zip(operator.sum.ends, _beyond(*operator.sum.ends), strict=True)
        ]
    places: list[tuple[Mapping[str, Any], int]] = [({}, 0)]
    if operator.groups is not None:
        last = len(operator.groups) - 1
        places = [({field: operator.groups[group]}, group) for group in sorted({0, last})]
    return [
        Contribution((*where.items(), *amount.items()), ((group, units),))
        for where, group in places
        for amount, units in amounts
    ]


def _under_policies(operator: PolicyOperator, field: str) -> list[Contribution]:
    query = operator.query
    match query.kind:
        case "count":
            return [Contribution(((field, there),), ((0, int(there)),)) for there in (False, True)]
        case "histogram":
            last = len(operator.bins) - 1
            return [
                Contribution(((field, operator.bins[group]),), ((group, 1),))
                for group in sorted({0, last})
            ]
        case "multi_histogram":
            return [of_set(operator, field, range(operator.group_count)), of_set(operator, field)]
        case "sum":
            return [
                of_sum(operator, field, units) for units in (query.lower_units, query.upper_units)
            ]


def of_sum(operator: PolicyOperator, field: str, units: int) -> Contribution:
    """Return a record that adds so many units, beyond the range if it adds an end of it."""
    ends = operator.query.lower_units, operator.query.upper_units
    more = dict(zip(ends, _beyond(*ends), strict=True)).get(units, 0)
    number = (units + more) / operator.units_per_one
    return Contribution(((field, number),), ((0, units),))


def of_set(operator: PolicyOperator, field: str, groups: Sequence[int] = ()) -> Contribution:
    """Return a record that names these groups."""
    names = tuple(operator.bins[group] for group in groups)
    return Contribution(((field, names),), tuple((group, 1) for group in groups))


def _beyond(lower: int, upper: int) -> tuple[int, int]:
    length = _BEYOND * max(1, upper - lower)
    return -length, length


def farthest(
    neighbours: Neighbours, possible: list[Contribution]
) -> tuple[Contribution, Contribution]:
    """Return two contributions that neighbours may differ in, as far apart as can be."""
    match neighbours.change:
        case "presence":
            pairs = [(one, NONE) for one in possible]
        case "replaced":
            pairs = list(permutations(possible, 2))
        case "replaced-or-none":
            pairs = list(permutations([*possible, NONE], 2))
        case _:
            raise CannotBeAudited(
                f"fugu audit does not know neighbours that are {neighbours.change}, for what a "
                f"{neighbours.whose} contributes to figures. Read fugu explain instead"
            )
    if neighbours.whose != "person" or not pairs:
        raise CannotBeAudited(
            f"fugu audit does not know neighbours that differ in a {neighbours.what} of a "
            f"{neighbours.whose}, for figures over many people. Read fugu explain instead"
        )
    return max(pairs, key=lambda pair: pair[0].apart(pair[1]))
