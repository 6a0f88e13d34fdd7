"""Draw how errors are spread: a box for each strategy, a panel for each epsilon.

A box holds the middle half of all ticks, groups and runs, its whiskers nine tenths, with a line at
the median and a point at the mean. Figures without any error stand at 0, left of where the
logarithmic scale begins.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path

from matplotlib.axes import Axes

from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.plot import Shown, courses, save_over_time
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.plot import DARK, RED, Block
from fugu.dataflows.offline.evaluation.report import Report

_OWN, _UNDER_POLICIES, _IN_WINDOWS = "#1f6f8b", "#a8cfdb", "#d9d9d9"
_ROW, _AROUND = 0.27, 1.5
"""Inches."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Draw the strategies of one epsilon, each at its place in `order`."""

    report: Report[AggregateUtility]
    epsilon: float
    order: Mapping[str, int]
    colours: Mapping[str, str]
    median: float

    def draw(self, axes: Axes) -> None:
        """Draw boxes, the median of the constant guess, and what colours mean."""
        for row in self.report.rows:
            spread, kind = row.utility.errors.spread, row.candidate.kind
            if row.candidate.epsilon == self.epsilon:
                box = {
                    "whislo": spread.low,
                    "q1": spread.lower,
                    "med": spread.median,
                    "q3": spread.upper,
                    "whishi": spread.high,
                    "mean": row.utility.errors.absolute.value,
                }
                axes.bxp(
                    [box],
                    positions=[self.order[kind]],
                    widths=0.62,
                    orientation="horizontal",
                    showfliers=False,
                    showmeans=True,
                    patch_artist=True,
                    manage_ticks=False,
                    boxprops={"facecolor": self.colours[kind], "linewidth": 0.8},
                    medianprops={"color": DARK, "linewidth": 1.6},
                    meanprops={"marker": "o", "markersize": 3.5, "mfc": "white", "mec": DARK},
                )
        label = "constant guess (true data), its median"
        axes.axvline(self.median, color=RED, ls="--", lw=1.0, label=label)
        for colour, meaning in (
            (_OWN, "the pipeline's strategy"),
            (_UNDER_POLICIES, "others under its policies"),
            (_IN_WINDOWS, f"hides everything in any {self.report.own.candidate.window:,} ticks"),
        ):
            axes.fill_between([], [], color=colour, label=meaning)
        own = self.report.own
        as_configured = own.configured and own.candidate.epsilon == self.epsilon
        title = f"epsilon {self.epsilon:g}{', as configured' * as_configured}"
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_xlabel("absolute error")
        axes.set_yticks(list(self.order.values()), list(self.order))
        axes.set_ylim(len(self.order) - 0.4, -0.6)
        self._scale(axes)

    def _scale(self, axes: Axes) -> None:
        """Use a logarithmic scale from the smallest quantile on that is not 0."""
        spreads = [row.utility.errors.spread for row in self.report.rows]
        found = [value for spread in spreads for value in spread.document().values()]
        positive = [value for value in found if value > 0.0]
        if len(positive) == len(found):
            axes.set_xscale("log")
        else:
            begin = 10.0 ** floor(log10(min(positive, default=1.0)))
            axes.set_xscale("symlog", linthresh=begin, linscale=0.4)
            axes.set_xlim(left=-begin / 10.0)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda at, _: f"{at:,g}")


def save_boxes(
    path: Path,
    report: Report[AggregateUtility],
    summed: Summed,
    truth: Truth,
    under_policies: Collection[str],
) -> None:
    """Draw boxes, and the pipeline's own strategy and the best other one over time."""
    order, own = _order(report), summed.operator.kind
    colours = {kind: _UNDER_POLICIES if kind in under_policies else _IN_WINDOWS for kind in order}
    median = truth.constant_guess().spread.median
    panels = [
        Boxes(report, epsilon, order, colours | {own: _OWN}, median)
        for epsilon in sorted({row.candidate.epsilon for row in report.rows})
    ]
    window = f" in {report.own.candidate.window} ticks"
    where = {kind: " in any interval" if kind in under_policies else window for kind in order}
    shown = [Shown.of(row, own) for row in report.rows]
    above = Block([panels], _AROUND + _ROW * len(order))
    save_over_time(path, report, summed, above, courses(shown, summed, truth, where))


def _order(report: Report[AggregateUtility]) -> Mapping[str, int]:
    """Place strategies by their medians at the pipeline's epsilon; last are those without it."""
    own = report.own.candidate.epsilon

    def key(place: int) -> tuple[bool, float, float]:
        row = report.rows[place]
        if row.candidate.epsilon != own:
            return True, float(place), 0.0
        return False, row.utility.errors.spread.median, row.utility.errors.absolute.value

    kinds = [
        report.rows[place].candidate.kind for place in sorted(range(len(report.rows)), key=key)
    ]
    return {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
