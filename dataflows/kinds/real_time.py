from functools import cached_property
from typing import Literal

from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.series_budget import (
    CORRELATED_ERRORS,
    MEASURED_BARS,
    MODEL_BARS,
    PREDICTED_BARS,
    ModelFilter,
    SeriesBudget,
)
from fugu.dataflows.records.contributions import Figures
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.shaped_release import ShapedRelease


class RealTimeOperator(CappedAggregate, SeriesBudget):
    """Release figures at every tick with Gaussian noise, and filter them by what was released."""

    order = 600
    example = DeclaredAggregate.example + "delta: 1.0e-6\nhorizon: 96\n"
    protected = (
        "everything that one person contributes, over a whole life, per `period`, or per period of "
        "`contributions`"
    )
    evaluation = "real_time"
    noise = "filtered"

    kind: Literal["real_time"]

    def release(self) -> RealTimeRelease:
        """Return the release, which needs no files."""
        return RealTimeRelease(
            self.group_count,
            self.bin_sensitivity,
            self.changed_bins,
            **self.release_parameters(),
            **self.told,
            personal_cap=self.personal_cap,
            weights=self.weights,
            history=self.past,
        )

    def mechanism(self, files: Files) -> Mechanism:
        return self.release() if self.shaped is None else self.shaped

    @property
    def past(self) -> tuple[tuple[float, ...], ...]:
        """Return the public history in units that the filter begins with, if there is one."""
        if not isinstance(self.filter, ModelFilter) or self.contributions is not None:
            return ()
        return self.filter.past(self.group_count, self.units_per_one)

    @cached_property
    def shaped(self) -> ShapedRelease | None:
        """Return the release under a declared model, if there is one."""
        if not isinstance(self.filter, ModelFilter) or self.personal_cap is None:
            return None
        return ShapedRelease(
            self.group_count,
            self.bin_sensitivity,
            float(self.epsilon),
            float(self.delta),
            self.personal_cap,
            self.filter.model(self.group_count, self.units_per_one),
            self.presentation,
            **self.told,
        )

    def refuse_large_sums(self, people: int) -> None:
        super().refuse_large_sums(people)
        if self.shaped is not None:
            self.refuse_beyond(self.shaped.largest, people)

    @property
    def capped(self) -> bool:
        return self.contributions is not None

    def figures(self) -> Figures:
        words = {"published": ("status", ("predicted", "measured"))}
        return Figures(self.groups, units_per_one=self.units_per_one, words=words)

    def parameters(self) -> dict[str, object]:
        return {**self.in_words(), **self.budget_in_words()}

    def how_to_read(self) -> list[str]:
        if self.shaped is not None:
            return [
                "value is an estimate of the true figure, by a declared model and noisy mixtures "
                "of figures.",
                MODEL_BARS,
                CORRELATED_ERRORS,
                *self.about_the_cap(),
                "records that came late, and users beyond state.max_keys, are not in the figures.",
            ]
        return [
            "value is an estimate of the true figure: a noisy one, smoothed by what earlier ones "
            "say (status: measured); or what they predict (predicted: true), at no price.",
            MEASURED_BARS.format(what="figure"),
            PREDICTED_BARS,
            CORRELATED_ERRORS,
            *self.about_the_cap(),
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
