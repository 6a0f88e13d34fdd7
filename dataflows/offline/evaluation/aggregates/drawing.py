"""Two pictures in one: errors, as lines or else; and the largest group over time, as it is and as
it is released."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from fugu.dataflows.offline.evaluation.aggregates.report import GUESS, AggregateReport
from fugu.dataflows.offline.evaluation.aggregates.utility import Series
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.policies.wording import counted

COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
LINES_HEIGHT = 3.6
"""Inches."""
_TRUTH, _GUESS = "#222222", "#c0392b"


@dataclass(frozen=True)
class Line:
    """Mean absolute errors, by what is on the axis; `configured` is the point of the pipeline."""

    label: str
    colour: str
    points: Sequence[tuple[float, Estimate]]
    configured: tuple[float, float] | None = None
    style: str = "-"


@dataclass(frozen=True)
class Panel:
    """Lines over one axis."""

    lines: Sequence[Line]
    axis: str
    title: str = ""


@dataclass(frozen=True)
class Course:
    """The largest group in one run, with a band of so many standard errors."""

    label: str
    colour: str
    title: str
    series: Series
    deviations: float
    band: str


def written(
    path: Path,
    report: AggregateReport,
    height: float,
    draw: Callable[[SubFigure], None],
    courses: Sequence[Course],
) -> None:
    """What `draw` draws in so many inches, and below it courses, one below the other."""
    with rc_context({"date.converter": "concise"}):
        heights = height, 0.6 + 2.1 * len(courses)
        figure = Figure(figsize=(9.0, sum(heights)), dpi=150, layout="constrained")
        above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
        draw(above)
        places = below.subplots(len(courses), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, course in zip(places, courses, strict=True):
            _draw_course(axes, report, course)
        figure.suptitle(
            f"{report.pipeline.name}: {counted(report.summed.ticks, 'tick')} of "
            f"{counted(report.summed.operator.group_count, 'group')}, "
            f"{counted(report.sample.stream_count, 'user')}, runs: {report.runs}",
            x=0.01,
            ha="left",
        )
        figure.savefig(path)


def draw_lines(figure: SubFigure, report: AggregateReport, panels: Sequence[Panel]) -> None:
    """Panels side by side, and one legend."""
    places = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(places, panels, strict=True):
        _draw_errors(axes, report, panel)
    places[0].set_ylabel("mean absolute error (MAE)")
    found = [axes.get_legend_handles_labels() for axes in places]
    legend = {label: handle for one in found for handle, label in zip(*one, strict=True)}
    figure.legend(list(legend.values()), list(legend), loc="outside right center", frameon=False)


def _draw_errors(axes: Axes, report: AggregateReport, panel: Panel) -> None:
    for line in panel.lines:
        axes.errorbar(
            [place for place, _ in line.points],
            [error.value for _, error in line.points],
            yerr=[error.standard_error for _, error in line.points],
            color=line.colour,
            linestyle=line.style,
            marker="o",
            markersize=4,
            linewidth=1.6,
            capsize=2,
            label=line.label,
        )
    guess = report.guess.absolute.value
    axes.axhline(guess, color=_GUESS, ls="--", lw=1.2, label=f"{GUESS}\n(true data)")
    for line in panel.lines:
        if line.configured is not None:
            ring = "as configured"
            axes.plot(*line.configured, "o", color=_TRUTH, fillstyle="none", ms=10, label=ring)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = sorted({place for line in panel.lines for place, _ in line.points})
    axes.xaxis.set_major_locator(FixedLocator(ends))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda at, _: f"{at:g}")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda at, _: f"{at:,g}")
    axes.set_xlabel(panel.axis)
    axes.set_title(panel.title, fontsize="medium")
    _tidy(axes)


def _draw_course(axes: Axes, report: AggregateReport, course: Course) -> None:
    truth, summed, series = report.truth, report.summed, course.series
    ticks, group = summed.operator.in_ticks(), truth.largest_group
    starts = [ticks.end(tick - 1) for tick in summed.numbers]
    times = np.array(starts, dtype="datetime64[ms]")
    axes.plot(
        times, truth.in_ones(truth.figures[:, group]), color=_TRUTH, lw=1.0, label="true figure"
    )
    label = f"{course.label}, one run"
    axes.step(times, series.values, where="post", color=course.colour, lw=1.4, label=label)
    if not np.isnan(series.noise).all():
        axes.fill_between(
            times,
            series.values - course.deviations * series.noise,
            series.values + course.deviations * series.noise,
            where=~np.isnan(series.noise),
            step="post",
            color=course.colour,
            alpha=0.18,
            linewidth=0.0,
            label=f"± {course.deviations:g} {course.band}",
        )
    key = summed.operator.figures().keys[group].decode()
    name = f"the largest group, {key}" if key else "the only group"
    axes.set_title(f"{course.title}: {name}", fontsize="medium", loc="left")
    axes.legend(edgecolor="none", fontsize="small", ncols=3, loc="upper right")
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
