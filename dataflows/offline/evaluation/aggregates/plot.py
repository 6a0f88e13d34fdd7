"""Draw errors as lines or boxes, and the pipeline's strategy and the best other one over time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.simulated import SimulatedRow
from fugu.dataflows.offline.evaluation.aggregates.utility import BARS, AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.plot import (
    DARK,
    RED,
    Block,
    Line,
    Lines,
    Panel,
    colours_of,
    save,
)
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.dataflows.policies.course import counted

_OWN, _UNDER_POLICIES, _IN_WINDOWS = "#1f6f8b", "#a8cfdb", "#d9d9d9"
_LINES_HEIGHT, _COURSE_HEIGHT, _BOX_HEIGHT, _AROUND_BOXES = 3.9, 2.3, 0.27, 1.5
"""Inches."""


@dataclass(frozen=True)
class Shown:
    """Place a row in a picture; a `rival` may be followed beside the pipeline's own row."""

    label: str
    epsilon: float
    window: int
    utility: AggregateUtility
    configured: bool = False
    rival: bool = True
    style: str = "-"

    @property
    def error(self) -> float:
        """Return the mean absolute error."""
        return self.utility.errors.absolute.value


@dataclass(frozen=True, eq=False)
class Picture:
    """Draw one report: errors, and below them the largest group over time.

    Where boxes are drawn, a box holds the middle half of all ticks, groups and runs, its whiskers
    nine tenths, with a line at the median and a point at the mean. Figures without any error stand
    at 0, left of where the logarithmic scale begins.
    """

    report: Report[AggregateUtility]
    summed: Summed
    truth: Truth

    def save_windows(self, path: Path) -> None:
        """Draw errors by window, in a panel for each epsilon, or by epsilon."""
        shown = [self._shown(row) for row in self.report.rows]
        if len({one.window for one in shown}) > 1:
            panels = [
                self._lines([one for one in shown if one.epsilon == epsilon], by_window=True)
                for epsilon in sorted({one.epsilon for one in shown})
            ]
        else:
            axis = f"epsilon, in any {shown[0].window:,} ticks in a row"
            panels = [self._lines(shown, axis)]
        where = dict.fromkeys((one.label for one in shown), self._in_window)
        self._save(path, Block([panels], _LINES_HEIGHT), self._courses(shown, where))

    def save_real_time(
        self, path: Path, by_cap: Mapping[str, Sequence[tuple[float, Estimate]]]
    ) -> None:
        """Draw errors by epsilon, and by cap if there is one; simulations that look at the truth
        are not followed."""
        shown = [self._shown(row, windowed=False) for row in self.report.rows]
        for one in self.report.beside:
            if isinstance(one, SimulatedRow):
                honest = not (one.rival.uses_true_data or one.rival.offline)
                place = one.name, one.epsilon or 0.0, 0
                shown.append(Shown(*place, one.utility, rival=honest, style="-."))
        panels = [self._lines(shown, "epsilon, for everything a user contributes")]
        if by_cap:
            styles = dict(zip(by_cap, ("-", "--", ":"), strict=True))
            lines = [
                Line(label, colour, by_cap[label], styles[label])
                for label, colour in colours_of(by_cap).items()
            ]
            axis = "at_most: ticks of a period in which a user counts"
            panels.append(Lines(lines, axis, "a figure errs by", "", True))
        followed = self._courses(shown, {}, (BARS, "standard errors"))
        self._save(path, Block([panels], _LINES_HEIGHT), followed)

    def save_boxes(self, path: Path, under_policies: Collection[str]) -> None:
        """Draw how errors are spread: a box for each strategy, a panel for each epsilon."""
        order = self._order()
        colours = {
            kind: _UNDER_POLICIES if kind in under_policies else _IN_WINDOWS for kind in order
        } | {self.summed.operator.kind: _OWN}
        where = {
            kind: " in any interval" if kind in under_policies else self._in_window
            for kind in order
        }
        panels = [
            partial(self._draw_boxes, epsilon, order, colours)
            for epsilon in sorted({row.candidate.epsilon for row in self.report.rows})
        ]
        above = Block([panels], _AROUND_BOXES + _BOX_HEIGHT * len(order))
        shown = [self._shown(row) for row in self.report.rows]
        self._save(path, above, self._courses(shown, where))

    @property
    def _in_window(self) -> str:
        return f" in {self.report.own.candidate.window} ticks"

    def _shown(self, row: Row[AggregateUtility], windowed: bool = True) -> Shown:
        """Show a candidate; those of the pipeline's own kind are no rivals of it."""
        one, other = row.candidate, row.candidate.kind != self.summed.operator.kind
        window = one.window or 0 if windowed else 0
        style = "--" if other and not windowed else "-"
        return Shown(one.name, one.epsilon, window, row.utility, row.configured, other, style)

    def _save(self, path: Path, above: Block, followed: Iterator[Panel]) -> None:
        below, summed = [[course] for course in followed], self.summed
        title = (
            f"{self.report.pipeline}: {counted(summed.ticks, 'tick')} of "
            f"{counted(summed.operator.group_count, 'group')}, "
            f"{counted(self.report.sample.stream_count, 'user')}, runs: {self.report.runs}"
        )
        save(path, title, [above, Block(below, _COURSE_HEIGHT * len(below), shared=False)])

    def _lines(
        self, shown: Sequence[Shown], axis: str = "window, in ticks", by_window: bool = False
    ) -> Lines:
        def place(one: Shown) -> float:
            return one.window if by_window else one.epsilon

        lines = []
        for label, colour in colours_of(one.label for one in shown).items():
            rows = sorted((one for one in shown if one.label == label), key=place)
            points = [(place(one), one.utility.errors.absolute) for one in rows]
            own = next((place(one) for one in rows if one.configured), None)
            lines.append(Line(label, colour, points, rows[0].style, own))
        title = f"epsilon {shown[0].epsilon:g}" if by_window else ""
        level = "constant guess (true data)", self.truth.constant_guess().absolute.value
        return Lines(lines, axis, "mean absolute error (MAE)", title, True, level)

    def _courses(
        self,
        shown: Sequence[Shown],
        where: Mapping[str, str],
        band: tuple[float, str] = (2.0, "standard errors of its noise"),
    ) -> Iterator[Panel]:
        """Follow the pipeline's own row and the best rival of the same epsilon."""
        own = next((one for one in shown if one.configured), shown[0])
        promise = own.epsilon, own.window
        same = [one for one in shown if one.rival and (one.epsilon, one.window) == promise]
        colours = colours_of(one.label for one in shown)
        for one in (own, *sorted(same, key=lambda one: one.error)[:1]):
            title = f"{one.label}, epsilon {one.epsilon:g}{where.get(one.label, '')}"
            yield partial(self._draw_course, one, title, colours[one.label], band)

    def _draw_course(
        self, shown: Shown, title: str, colour: str, band: tuple[float, str], axes: Axes
    ) -> None:
        """Draw the largest group as it is, and as it is released, with a band around it."""
        operator, series = self.summed.operator, shown.utility.series
        ticks, group = operator.in_ticks(), self.truth.largest_group
        starts = [ticks.end(tick - 1) for tick in self.summed.numbers]
        times = np.array(starts, dtype="datetime64[ms]")
        true = self.truth.in_ones(self.truth.figures[:, group])
        axes.plot(times, true, color=DARK, lw=1.0, label="true figure")
        label = f"{shown.label}, one run"
        axes.step(times, series.values, where="post", color=colour, lw=1.4, label=label)
        said = ~np.isnan(series.noise)
        if said.any():
            deviations, what = band
            low, high = (series.values + k * deviations * series.noise for k in (-1.0, 1.0))
            label, shade = f"± {deviations:g} {what}", (colour, 0.18)
            axes.fill_between(
                times, low, high, where=said, step="post", color=shade, lw=0.0, label=label
            )
        key = operator.figures().keys[group].decode()
        name = f"the largest group, {key}" if key else "the only group"
        axes.set_title(f"{title}: {name}", fontsize="medium", loc="left")
        axes.legend(edgecolor="none", fontsize="small", ncols=3, loc="upper right")

    def _order(self) -> Mapping[str, int]:
        """Place strategies by medians at the pipeline's epsilon; last are those without it."""
        own = self.report.own.candidate.epsilon

        def key(row: Row[AggregateUtility]) -> tuple[bool, float, float]:
            errors = row.utility.errors
            if row.candidate.epsilon != own:
                return True, 0.0, 0.0
            return False, errors.spread.median, errors.absolute.value

        kinds = dict.fromkeys(row.candidate.kind for row in sorted(self.report.rows, key=key))
        return {kind: place for place, kind in enumerate(kinds)}

    def _draw_boxes(
        self, epsilon: float, order: Mapping[str, int], colours: Mapping[str, str], axes: Axes
    ) -> None:
        """Draw boxes, the median of the constant guess, and what colours mean."""
        for row in self.report.rows:
            spread, kind = row.utility.errors.spread, row.candidate.kind
            if row.candidate.epsilon == epsilon:
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
                    positions=[order[kind]],
                    widths=0.62,
                    orientation="horizontal",
                    showfliers=False,
                    showmeans=True,
                    patch_artist=True,
                    manage_ticks=False,
                    boxprops={"facecolor": colours[kind], "linewidth": 0.8},
                    medianprops={"color": DARK, "linewidth": 1.6},
                    meanprops={"marker": "o", "markersize": 3.5, "mfc": "white", "mec": DARK},
                )
        median, label = self.truth.constant_guess().spread.median, "constant guess (true data)"
        axes.axvline(median, color=RED, ls="--", lw=1.0, label=f"{label}, its median")
        own = self.report.own
        for colour, meaning in (
            (_OWN, "the pipeline's strategy"),
            (_UNDER_POLICIES, "others under its policies"),
            (_IN_WINDOWS, f"hides everything in any {own.candidate.window:,} ticks"),
        ):
            axes.fill_between([], [], color=colour, label=meaning)
        as_configured = own.configured and own.candidate.epsilon == epsilon
        title = f"epsilon {epsilon:g}{', as configured' * as_configured}"
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_xlabel("absolute error")
        axes.set_yticks(list(order.values()), list(order))
        axes.set_ylim(len(order) - 0.4, -0.6)
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
