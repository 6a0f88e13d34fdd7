"""Declare how ticks of one user depend on each other, and when that is flagged."""

from functools import cached_property
from typing import Annotated, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.section import Section, named_file
from fugu.dataflows.files.alphabet_file import read_matrix
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.wevent.pba import Flags, Markov, Released, Schedule, dobrushin
from fugu.operators.wevent_local.compiled_rules import MarkovSinceReport

Share = Annotated[float, Field(gt=0, le=1, strict=False)]


def _matrix(given: object, about: ValidationInfo) -> object:
    if not isinstance(given, str):
        return given
    path = named_file(given, about)
    try:
        return read_matrix(path).tolist()
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


_NUMBERS = {"type": "array", "items": {"type": "number"}}
_FORMS = [{"type": "string"}, {"type": "array", "items": _NUMBERS}]
Rows = Annotated[list[list[float]], BeforeValidator(_matrix), WithJsonSchema({"anyOf": _FORMS})]
"""A transition matrix, or the name of a file that holds one."""


class Correlation(Section):
    """Declare how ticks of one user depend on each other, and the most that a reader who knows it
    may learn about one tick, in nats; without `backward` that holds wherever a person began."""

    transition: Rows
    """Say how likely each value follows each other one: rows, or a file of them."""
    backward: Rows | None = None
    """Say how likely each value came before, if all readers believe that; without it, figures hold
    wherever a person began."""
    at_most: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)] | None = None
    """The most that a reader who knows it may learn about one tick, in nats."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.known
        return self

    @cached_property
    def known(self) -> TemporalCorrelation:
        """Return the same for leakages; the work grows with the third power of the values."""
        return TemporalCorrelation.of(self.transition, self.backward)


class MarkovFlags(Section):
    """Flag always, if rows of a public transition matrix are as far apart as `threshold`."""

    matrix: Rows
    """The public transition matrix: rows, or a file of them."""
    threshold: Share = 0.5
    """Say how far apart rows must be."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        dobrushin(self.matrix)
        return self


class ReleasedFlags(Section):
    """Flag where the last two publications are as correlated as this."""

    released: Share
    """Say how correlated the last two publications must be."""


def _flags(given: object) -> object:
    if not isinstance(given, bool | list | dict):
        raise ValueError(
            "write true or false, a list of them, {matrix: FILE, threshold: 0.5} or {released: 0.5}"
        )
    return given


def _form_of_flags(given: object) -> str:
    match given:
        case MarkovFlags() | {"matrix": _}:
            return "by a matrix"
        case ReleasedFlags() | {"released": _}:
            return "by releases"
        case dict():
            return "by a matrix" if "threshold" in given else "by releases"
        case list():
            return "a list"
    return "a word"


FlagsSection = Annotated[
    Annotated[bool, Tag("a word")]
    | Annotated[list[bool], Tag("a list")]
    | Annotated[MarkovFlags, Tag("by a matrix")]
    | Annotated[ReleasedFlags, Tag("by releases")],
    Discriminator(_form_of_flags),
    BeforeValidator(_flags),
]


def flags_of(section: bool | list[bool] | MarkovFlags | ReleasedFlags) -> Flags:
    """Return the same for a strategy."""
    match section:
        case bool(always):
            return Schedule((always,))
        case list(pattern):
            return Schedule(tuple(pattern))
        case MarkovFlags(matrix=matrix, threshold=threshold):
            return Markov(tuple(tuple(row) for row in matrix), threshold)
        case ReleasedFlags(released=threshold):
            return Released(threshold)


def local_flags_of(section: bool | list[bool] | MarkovFlags | ReleasedFlags, window: int) -> Flags:
    """Return the same for reports of single streams, which know when the last one was made."""
    if isinstance(section, MarkovFlags):
        matrix = tuple(tuple(row) for row in section.matrix)
        return MarkovSinceReport(matrix, window, section.threshold)
    return flags_of(section)
