"""Declare ticks of event time, as operators over them write them."""

from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from fugu.dataflows.base.section import Section
from fugu.dataflows.base.ticks import (
    AS_JSON,
    DISTINCT_KEYS,
    MILLISECOND,
    StreamTime,
    whole_milliseconds,
)


class StreamTimeSection(Section):
    """Say whose records move stream time: those of so many people together, or heartbeats, keys
    that belong to nobody and are written to every partition."""

    distinct_keys: int | None = Field(default=None, ge=1, le=1_000)
    """Say how many people must have reached a time."""
    heartbeats: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = (
        None
    )
    """Keys of nobody, which are written to every partition."""
    max_ahead: (
        Annotated[timedelta, BeforeValidator(whole_milliseconds("1s", "36500d")), AS_JSON] | None
    ) = None
    """Say how far the time in a field may be ahead of that of its record in Kafka: a day, if
    nothing is written."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        movers = [one for one in (self.distinct_keys, self.heartbeats) if one is not None]
        if len(movers) > 1 or (not movers and self.max_ahead is None):
            raise ValueError("write either distinct_keys: NUMBER or heartbeats: [KEY, ...]")
        return self

    @property
    def as_declared(self) -> StreamTime:
        """Return the same for ticks."""
        beats = frozenset(key.encode() for key in self.heartbeats or ())
        ahead = None if self.max_ahead is None else self.max_ahead // MILLISECOND
        return StreamTime(self.distinct_keys or DISTINCT_KEYS, beats, ahead)


class Lateness(Section):
    """Say how long after its end a tick closes, and whose records say what time it is."""

    stream_time: StreamTimeSection = StreamTimeSection(distinct_keys=DISTINCT_KEYS)
    """Whose records say what time it is."""
    grace: Annotated[timedelta, BeforeValidator(whole_milliseconds("0s", "30d")), AS_JSON] = (
        timedelta(0)
    )
    """Say how long after its end a tick waits for late records."""

    @property
    def grace_milliseconds(self) -> int:
        """Return the same as a number."""
        return self.grace // MILLISECOND


class EventTimeTicks(Lateness):
    """Say how long a tick is, too."""

    width: Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "366d")), AS_JSON]
    """Say how long a tick is."""

    @property
    def milliseconds(self) -> tuple[int, int]:
        """Return width and grace."""
        return self.width // MILLISECOND, self.grace_milliseconds


_COUNTS: Final = {
    "last": "the last one of a stream in a tick, by offset",
    "first": "the first one of a stream in a tick, by offset",
    "error": "the first one of a stream in a tick, by offset; others become dead letters",
}


class OneInATick(EventTimeTicks):
    """Say how far ahead a record may be, too, and which one of a stream in a tick counts."""

    max_jump: int = Field(default=100, ge=1)
    """Say how many ticks a record may be ahead of those that are open."""
    several: Literal["last", "first", "error"] = "last"
    """Say which of several records of a key in a tick counts."""

    @property
    def counting_in_words(self) -> str:
        """Say which record counts."""
        return _COUNTS[self.several]
