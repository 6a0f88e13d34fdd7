"""Figures of groups, tick by tick, under one budget for everything a user contributes."""

from typing import Literal

from fugu.dataflows.kinds.aggregates import DeclaredAggregate
from fugu.dataflows.kinds.series_budget import PREDICTED_BARS, SeriesBudget
from fugu.dataflows.records.contributions import Figures


class RealTimeOperator(DeclaredAggregate, SeriesBudget):
    """What is counted or summed in each tick, with noise, and filtered by what was released."""

    kind: Literal["real_time"]

    @property
    def changed_bins(self) -> int:
        """In how many groups one contribution can change a tick."""
        return 2 if self.group_count > 1 and self.protects == "contribution" else 1

    @property
    def bin_sensitivity(self) -> int:
        """By how many units it can change each of them."""
        if self.sum is None:
            return 1
        if self.protects == "presence":
            return self.sum.largest_units
        lower, upper = self.sum.in_units(self.sum.lower), self.sum.in_units(self.sum.upper)
        return max(self.sum.largest_units, upper - lower)

    def figures(self) -> Figures:
        """How releases are written."""
        words = {"published": ("status", ("predicted", "measured"))}
        return Figures(self.groups, units_per_one=self.units_per_one, words=words)

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {**self.in_words(), **self.budget_in_words()}

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "value is an estimate of the true figure: a noisy one, smoothed by what earlier ones "
            "say (status: measured); or what they predict (predicted: true), at no price.",
            "value plus and minus 1.96 standard_error holds the true figure in 19 ticks of 20 on "
            "average over a long run, and more often where noise hides how the series moves; less "
            "often in a short series that rises and falls steeply, not right after a step, and not "
            "at spikes that are within the noise.",
            PREDICTED_BARS,
            "errors of ticks that follow each other are correlated: the mean of n values errs more "
            "than standard_error divided by the root of n.",
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
