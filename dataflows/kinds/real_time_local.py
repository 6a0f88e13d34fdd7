from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.families.ranges import NumberOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.series_budget import (
    CORRELATED_ERRORS,
    MEASURED_BARS,
    PREDICTED_BARS,
    ModelFilter,
    SeriesBudget,
)
from fugu.dataflows.kinds.families.ticks import OneInATick
from fugu.dataflows.records.series import Series
from fugu.dataflows.records.values import Values
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.local_release import LocalRealTimeRelease


class SeriesTicks(OneInATick):
    """Declare ticks of event time; a record more than `max_jump` of them ahead is refused, and a
    stream without a record in `idle` of them in a row pauses."""

    idle: int = Field(default=100, ge=1)
    """After how many ticks without a record a stream pauses."""


class LocalRealTimeOperator(SeriesBudget, NumberOperator):
    """Release a number of each tick with Gaussian noise, filtered by what was released."""

    order = 601
    example = (
        "lower: 40\nupper: 180\nticks: {width: 1m}\nepsilon: 4.0\ndelta: 1.0e-6\nhorizon: 60\n"
    )
    protected = "all numbers of one user, over a whole life or per `period`"
    reads = frozenset({"unit", "ticks"})
    stage = StageKind.SERIES
    evaluation = "series"
    noise = "filtered"
    claims_about = "all ticks of a stream together"
    no_budget = "epsilon is the budget of {kind}; delete it"
    no_dedupe = "a stream has one value in a tick, however often it was sent"
    spent_in = "rho"

    kind: Literal["real_time_local"]
    ticks: SeriesTicks
    """Say how event time is cut into ticks."""

    @model_validator(mode="after")
    def _check_filter(self) -> Self:
        if self.weights or isinstance(self.filter, ModelFilter):
            raise ValueError(
                "filter: real_time_local has no weights in turn, no model and no history; write "
                "adaptive, baseline or one weight"
            )
        return self

    def mechanism(self, files: Files) -> Mechanism:
        return LocalRealTimeRelease(
            *self.ends,
            units_per_one=self.units_per_one,
            tick_milliseconds=self.in_ticks().width,
            **self.release_parameters(),
        )

    def values(self, fields: Sequence[str]) -> Values:
        whole = self.presentation == "integer"
        return Series(fields[0], units_per_one=self.units_per_one, whole=whole)

    def in_ticks(self) -> Ticks:
        ticks, time = self.ticks, self.ticks.stream_time.as_declared
        return Ticks(*ticks.milliseconds, ticks.max_jump, ticks.idle, ticks.several, time)

    def parameters(self) -> dict[str, object]:
        ticks = self.in_ticks()
        return {
            **super().parameters(),
            "ticks": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "of several records counts": self.ticks.counting_in_words,
            "a stream pauses": f"after {self.ticks.idle:,} ticks in a row without a record, until "
            "the next one; its budget stays what it is",
            **self.budget_in_words(),
        }

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        return [
            "when a stream begins, pauses and goes on: it releases something in every tick from "
            f"its first record on, until {self.ticks.idle:,} ticks in a row had none"
        ]

    def how_to_read(self) -> list[str]:
        return [
            "value is an estimate of the true number, clamped to the range: a noisy one, smoothed "
            "by what earlier ones say (status: measured); or what they predict (predicted: true), "
            "where a tick had no record or nothing is left of the budget (budget_exhausted).",
            "a prediction costs nothing and says nothing new about the stream: leave it out of "
            "counts of readings.",
            MEASURED_BARS.format(what="number") + " It is null while that is not known yet.",
            PREDICTED_BARS,
            CORRELATED_ERRORS,
            "to average over n streams choose filter: baseline, whose mean errs standard_error "
            "divided by the root of n; what another filter smooths away, it smooths away in all "
            "streams alike.",
            "a value is dated at the end of its tick; records that came late are not in it.",
        ]
