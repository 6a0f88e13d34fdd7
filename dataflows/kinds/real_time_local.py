"""One number per stream and tick, under one budget for everything that a stream ever says."""

from typing import ClassVar, Literal

from pydantic import Field

from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.numbers import RangeSection
from fugu.dataflows.kinds.series_budget import PREDICTED_BARS, SeriesBudget
from fugu.dataflows.kinds.ticks import EventTimeTicks

_COUNTS = {
    "last": "the last one of a stream in a tick, by offset",
    "first": "the first one of a stream in a tick, by offset",
    "error": "the first one of a stream in a tick, by offset; others become dead letters",
}


class SeriesTicks(EventTimeTicks):
    """Ticks of event time; a record more than `max_jump` of them ahead is refused, and a stream
    without a record in `idle` of them in a row pauses."""

    max_jump: int = Field(default=100, ge=1)
    several: Literal["last", "first", "error"] = "last"
    idle: int = Field(default=100, ge=1)


class LocalRealTimeOperator(SeriesBudget, RangeSection):
    """A number of each tick, clamped to a range, with noise, and filtered by what was released."""

    reads: ClassVar[frozenset[str]] = frozenset({"unit", "ticks"})

    kind: Literal["real_time_local"]
    ticks: SeriesTicks

    def in_ticks(self) -> Ticks:
        """Ticks of event time."""
        ticks = self.ticks
        return Ticks(
            *ticks.milliseconds,
            ticks.max_jump,
            ticks.idle,
            ticks.several,
            ticks.stream_time.as_declared,
        )

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        ticks = self.in_ticks()
        return {
            "range": f"{self.lower} to {self.upper}; what is outside is read as the nearer end",
            "unit": str(self.unit),
            "ticks": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "of several records counts": _COUNTS[self.ticks.several],
            "a stream pauses": f"after {self.ticks.idle:,} ticks in a row without a record, until "
            "the next one; its budget stays what it is",
            **self.budget_in_words(),
        }

    def not_covered(self) -> list[str]:
        """What the way of making ticks leaves open."""
        return [
            "when a stream begins, pauses and goes on: it releases something in every tick from "
            f"its first record on, until {self.ticks.idle:,} ticks in a row had none"
        ]

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "value is an estimate of the true number, clamped to the range: a noisy one, smoothed "
            "by what earlier ones say (status: measured); or what they predict (predicted: true), "
            "where a tick had no record or nothing is left of the budget (budget_exhausted).",
            "a prediction costs nothing and says nothing new about the stream: leave it out of "
            "counts of readings.",
            "value plus and minus 1.96 standard_error holds the true number in 19 ticks of 20 on "
            "average over a long run, and more often where noise hides how the series moves; less "
            "often in a short series that rises and falls steeply, not right after a step, and not "
            "at spikes that are within the noise. It is null while that is not "
            "known yet.",
            PREDICTED_BARS,
            "errors of ticks that follow each other are correlated: the mean of n values errs more "
            "than standard_error divided by the root of n.",
            "to average over n streams choose filter: baseline, whose mean errs standard_error "
            "divided by the root of n; what another filter smooths away, it smooths away in all "
            "streams alike.",
            "a value is dated at the end of its tick; records that came late are not in it.",
        ]
