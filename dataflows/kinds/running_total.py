from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.mechanism import Mechanism
from fugu.operators.totals.fitted import LARGEST_TICKS
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.wevent.allocation import LARGEST_EPSILON

Ticks = Annotated[int, Field(ge=1, le=LARGEST_TICKS)]


class RunningTotalOperator(CappedAggregate):
    """Release running totals with noise that partly cancels from tick to tick."""

    order = 406
    example = DeclaredAggregate.example + "delta: 1.0e-6\nhorizon: 96\n"
    protected = (
        "everything that one person contributes; or per any `window` ticks in a row, or per period "
        "of `contributions`"
    )
    evaluation = "totals"
    noise = "factorised totals"

    kind: Literal["running_total"]
    epsilon: Annotated[Epsilon, Field(le=LARGEST_EPSILON)]
    """The nats that everything costs, or a window or period."""
    delta: Annotated[float, Field(gt=0, lt=1)]
    """The chance with which it is as if nothing were promised."""
    horizon: Ticks | None = None
    """Say how many ticks there will be."""
    window: Ticks | None = None
    """Say how many ticks in a row are protected together; goes with `horizon`, which it is without.
    """

    @model_validator(mode="after")
    def _check_extent(self) -> Self:
        if (self.horizon is None) == (self.contributions is None):
            raise ValueError(
                "horizon, contributions: write exactly one of them: how many ticks there will be, "
                "or in how many ticks of a period a user counts"
            )
        if self.window is not None and self.window > (self.horizon or 0):
            raise ValueError("window: goes with a horizon of at least as many ticks")
        return self

    def release(self) -> RunningTotal:
        """Return the release, which needs no files."""
        return RunningTotal(
            self.group_count,
            self.bin_sensitivity,
            self.changed_bins,
            float(self.epsilon),
            float(self.delta),
            self.horizon,
            self.window,
            personal_cap=self.personal_cap,
            **self.told,
        )

    def mechanism(self, files: Files) -> Mechanism:
        return self.release()

    def refuse_large_sums(self, people: int) -> None:
        super().refuse_large_sums(people)
        self.refuse_beyond(self.release().largest, people)

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        assert isinstance(mechanism, RunningTotal)
        if mechanism.error < mechanism.precision.error_of_separate_noise:
            return []
        return [
            "operator.kind: a person may count in so many ticks that totals err no less than with "
            "noise on each tick. Write a window, or contributions if people come in few ticks; "
            "sums of real_time with filter: baseline and shares: falling err 5 % less"
        ]

    def estimator(self, mechanism: Mechanism) -> Mapping[str, float]:
        """Return what tells how the errors of totals go together."""
        assert isinstance(mechanism, RunningTotal)
        buffers = mechanism.buffers
        return {
            "noise": mechanism.precision.noise / self.units_per_one,
            "ticks": mechanism.ticks,
            **{f"weight_{place}": float(one) for place, one in enumerate(buffers.weights)},
            **{f"factor_{place}": float(one) for place, one in enumerate(buffers.factors)},
        }

    def parameters(self) -> dict[str, object]:
        epsilon = f"{self.epsilon:g} nats with delta {self.delta:g}"
        if self.horizon is None:
            extent = "for each period of contributions anew"
        elif self.window is None:
            extent = f"for all of {self.horizon:,} ticks; no totals follow"
        else:
            extent = f"for any {self.window:,} of {self.horizon:,} ticks; no totals follow"
        return {**self.in_words(), "epsilon": f"{epsilon}, {extent}"}

    def how_to_read(self) -> list[str]:
        ends = (
            "; published is false once the horizon is over, and the last total is repeated"
            if self.horizon is not None
            else ""
        )
        return [
            f"value is the true sum of all ticks so far plus noise, and may be negative{ends}.",
            "the difference of two totals is the sum of the ticks between them. Its error is less "
            "than theirs together, because errors of totals go together: totals() of fugu.read "
            "has its bars.",
            *self.about_the_cap(),
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
