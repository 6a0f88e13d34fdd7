"""Collect the kinds of operators: every module of this folder holds one, as a typed section."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Field

from fugu.dataflows.kinds.anonymize import AnonymizeOperator
from fugu.dataflows.kinds.families.aggregates import AggregateOperator
from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.dataflows.kinds.families.responses import ResponseOperator
from fugu.dataflows.kinds.families.section import OperatorSection
from fugu.dataflows.kinds.families.symbols import AlphabetOperator, SymbolOperator
from fugu.dataflows.kinds.families.temporal import TemporalOperator
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.dataflows.kinds.real_time import RealTimeOperator
from fugu.operators.wevent.strategy import Strategy

__all__ = [
    "KINDS",
    "AggregateOperator",
    "AlphabetOperator",
    "AnonymizeOperator",
    "Operator",
    "OperatorSection",
    "PolicyOperator",
    "RealTimeOperator",
    "ResponseOperator",
    "SymbolOperator",
    "TemporalOperator",
    "WEventOperator",
    "as_kind",
    "kinds_of",
    "strategy_of",
]


def _collected() -> dict[str, type[OperatorSection]]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = {
        kind: member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, OperatorSection)
        for annotation in [member.model_fields["kind"].annotation]
        if get_origin(annotation) is Literal
        for kind in get_args(annotation)
    }
    return dict(sorted(found.items(), key=lambda entry: (entry[1].order, entry[0])))


KINDS = _collected()
"""Sections by kind, in the order in which they are shown."""

if TYPE_CHECKING:
    Operator = OperatorSection
else:
    Operator = Annotated[Union[tuple(KINDS.values())], Field(discriminator="kind")]  # noqa: UP007


def kinds_of(family: type[OperatorSection]) -> tuple[str, ...]:
    """Name the kinds of a family."""
    return tuple(kind for kind, section in KINDS.items() if issubclass(section, family))


def strategy_of(kind: str) -> type[Strategy]:
    """Return the strategy of a kind with a budget for any window, which takes nothing else."""
    section = KINDS[kind]
    assert issubclass(section, WEventOperator)
    return section.strategy_class


def as_kind(section: OperatorSection, kind: str, **changes: object) -> Any:
    """Return a section of this kind with what `section` says and it has, too, and with changes.

    Nothing is checked before its mechanism is built.
    """
    made = KINDS[kind]
    told = {name for name in section.model_fields_set if name in made.model_fields}
    kept = {name: getattr(section, name) for name in told}
    values = kept | {name: new for name, new in changes.items() if name in made.model_fields}
    return made.model_construct({*values}, **values | {"kind": kind})
