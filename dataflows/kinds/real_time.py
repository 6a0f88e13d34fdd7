from typing import Literal

from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.series_budget import (
    CORRELATED_ERRORS,
    MEASURED_BARS,
    PREDICTED_BARS,
    SeriesBudget,
)
from fugu.dataflows.records.contributions import Figures
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.real_time_release import RealTimeRelease


class RealTimeOperator(DeclaredAggregate, SeriesBudget):
    """Release figures at every tick with Gaussian noise, and filter them by what was released."""

    order = 600
    example = DeclaredAggregate.example + "delta: 1.0e-6\nhorizon: 96\n"
    protected = "everything that one person contributes, over a whole life or per `period`"
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
        )

    def mechanism(self, files: Files) -> Mechanism:
        return self.release()

    @property
    def changed_bins(self) -> int:
        """Return in how many groups one contribution can change a tick."""
        return 2 if self.group_count > 1 and self.protects == "contribution" else 1

    @property
    def bin_sensitivity(self) -> int:
        """Return by how many units it can change each of them."""
        if self.sum is None:
            return 1
        if self.protects == "presence":
            return self.sum.largest_units
        lower, upper = self.sum.ends
        return max(self.sum.largest_units, upper - lower)

    def figures(self) -> Figures:
        words = {"published": ("status", ("predicted", "measured"))}
        return Figures(self.groups, units_per_one=self.units_per_one, words=words)

    def parameters(self) -> dict[str, object]:
        return {**self.in_words(), **self.budget_in_words()}

    def how_to_read(self) -> list[str]:
        return [
            "value is an estimate of the true figure: a noisy one, smoothed by what earlier ones "
            "say (status: measured); or what they predict (predicted: true), at no price.",
            MEASURED_BARS.format(what="figure"),
            PREDICTED_BARS,
            CORRELATED_ERRORS,
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
