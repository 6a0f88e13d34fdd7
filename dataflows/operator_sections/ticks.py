"""Ticks of event time, as operators over them write them."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from dataflows.durations import between
from dataflows.section import Section

_MILLISECOND = timedelta(milliseconds=1)


class Lateness(Section):
    """How long after its end a tick closes."""

    grace: Annotated[timedelta, BeforeValidator(between("0s", "30d"))] = timedelta(0)

    @model_validator(mode="after")
    def _check_grace(self) -> Self:
        if self.grace % _MILLISECOND:
            raise ValueError("grace: must be a whole number of milliseconds")
        return self

    @property
    def grace_milliseconds(self) -> int:
        """The same as a number."""
        return self.grace // _MILLISECOND


class EventTimeTicks(Lateness):
    """How long a tick is, too."""

    width: Annotated[timedelta, BeforeValidator(between("1ms", "366d"))]

    @model_validator(mode="after")
    def _check_width(self) -> Self:
        if self.width % _MILLISECOND:
            raise ValueError("width: must be a whole number of milliseconds")
        return self

    @property
    def milliseconds(self) -> tuple[int, int]:
        """Width and grace."""
        return self.width // _MILLISECOND, self.grace_milliseconds
