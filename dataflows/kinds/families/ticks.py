"""Declare ticks of event time, as operators over them write them."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from fugu.dataflows.base.durations import between
from fugu.dataflows.base.section import Section
from fugu.dataflows.base.stream_time import DISTINCT_KEYS, StreamTime

_MILLISECOND = timedelta(milliseconds=1)


class StreamTimeSection(Section):
    """Say whose records move stream time: those of so many people together, or heartbeats, keys
    that belong to nobody and are written to every partition."""

    distinct_keys: int | None = Field(default=None, ge=1, le=1_000)
    heartbeats: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = (
        None
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.distinct_keys is None) == (self.heartbeats is None):
            raise ValueError("write either distinct_keys: NUMBER or heartbeats: [KEY, ...]")
        return self

    @property
    def as_declared(self) -> StreamTime:
        """Return the same for ticks."""
        beats = frozenset(key.encode() for key in self.heartbeats or ())
        return StreamTime(self.distinct_keys or DISTINCT_KEYS, beats)


class Lateness(Section):
    """Say how long after its end a tick closes, and whose records say what time it is."""

    stream_time: StreamTimeSection = StreamTimeSection(distinct_keys=DISTINCT_KEYS)
    grace: Annotated[timedelta, BeforeValidator(between("0s", "30d"))] = timedelta(0)

    @model_validator(mode="after")
    def _check_grace(self) -> Self:
        if self.grace % _MILLISECOND:
            raise ValueError("grace: must be a whole number of milliseconds")
        return self

    @property
    def grace_milliseconds(self) -> int:
        """Return the same as a number."""
        return self.grace // _MILLISECOND


class EventTimeTicks(Lateness):
    """Say how long a tick is, too."""

    width: Annotated[timedelta, BeforeValidator(between("1ms", "366d"))]

    @model_validator(mode="after")
    def _check_width(self) -> Self:
        if self.width % _MILLISECOND:
            raise ValueError("width: must be a whole number of milliseconds")
        return self

    @property
    def milliseconds(self) -> tuple[int, int]:
        """Return width and grace."""
        return self.width // _MILLISECOND, self.grace_milliseconds
