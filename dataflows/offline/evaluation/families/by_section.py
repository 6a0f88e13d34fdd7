"""Choose the family of an operator: the only place of the evaluation that asks a section."""

from typing import Any

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import Operator
from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.dataflows.offline.evaluation.aggregates.capped import CappedFamily
from fugu.dataflows.offline.evaluation.aggregates.collected import CollectedFamily
from fugu.dataflows.offline.evaluation.aggregates.real_time import RealTimeFamily
from fugu.dataflows.offline.evaluation.aggregates.strategies import PolicyFamily, WindowFamily
from fugu.dataflows.offline.evaluation.aggregates.totals import TotalsFamily
from fugu.dataflows.offline.evaluation.family import Family, Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.temporal.family import TemporalFamily

_FAMILIES: dict[str, type[Family[Any, Any]]] = {
    "records": RecordFamily,
    "displaced": TemporalFamily,
    "windows": WindowFamily,
    "policies": PolicyFamily,
    "real_time": RealTimeFamily,
    "collected": CollectedFamily,
    "totals": TotalsFamily,
}
_OPTIONS = {
    "average": ("--average", "does not displace values"),
    "count_above": ("--count-above", "does not displace values"),
    "value_range": ("--range", "does not displace values"),
    "windows": ("--windows", "has no window to vary"),
}
"""Options that not every family takes, and why."""


def family_of(operator: Operator, wanted: Wanted) -> type[Family[Any, Any]]:
    """Choose the family; raise `FuguError` for an option that it does not take."""
    if operator.evaluation not in _FAMILIES:
        raise FuguError(
            f"fugu evaluate does not measure {operator.kind}; fugu explain says how much noise "
            "a value has, and every release states its own standard_error"
        )
    capped = isinstance(operator, UniformOperator) and operator.contributions is not None
    family = CappedFamily if capped else _FAMILIES[operator.evaluation]
    for name, (option, why) in _OPTIONS.items():
        if name not in family.takes and getattr(wanted, name) is not None:
            raise FuguError(f"{option}: {operator.kind} {why}; delete it")
    return family
