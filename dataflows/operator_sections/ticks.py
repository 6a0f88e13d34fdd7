"""Ticks of event time, as operators over them write them."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from dataflows.durations import between
from dataflows.section import Section

_MILLISECOND = timedelta(milliseconds=1)


class EventTimeTicks(Section):
    """How long a tick is, and how long after its end it closes."""

    width: Annotated[timedelta, BeforeValidator(between("1ms", "366d"))]
    grace: Annotated[timedelta, BeforeValidator(between("0s", "30d"))] = timedelta(0)

    @model_validator(mode="after")
    def _check_milliseconds(self) -> Self:
        if self.width % _MILLISECOND or self.grace % _MILLISECOND:
            raise ValueError("width and grace must be whole numbers of milliseconds")
        return self

    @property
    def milliseconds(self) -> tuple[int, int]:
        """Width and grace."""
        return self.width // _MILLISECOND, self.grace // _MILLISECOND
