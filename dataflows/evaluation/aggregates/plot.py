"""Two pictures in one: what figures err, by window or by epsilon, under policies as boxes; and the
largest group over time, as it is and as it is released, by the pipeline's own strategy and by the
best other one."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from dataflows.evaluation.aggregates import boxes
from dataflows.evaluation.aggregates.policy_grid import UNDER_POLICIES
from dataflows.evaluation.aggregates.report import GUESS, AggregateReport, AggregateRow
from dataflows.operator_sections import PolicyOperator
from dataflows.policies.wording import counted

_COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
_TRUTH, _GUESS = "#222222", "#c0392b"
_BAND = 2.0


def save(report: AggregateReport, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    with rc_context({"date.converter": "concise"}):
        _drawn(report).savefig(path)


def _drawn(report: AggregateReport) -> Figure:
    kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
    colours = dict(zip(kinds, cycle(_COLOURS), strict=False))
    shown, policies = _in_time(report), isinstance(report.summed.operator, PolicyOperator)
    heights = boxes.height(report) if policies else 3.6, 0.6 + 2.1 * len(shown)
    figure = Figure(figsize=(9.0, sum(heights)), dpi=150, layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
    if policies:
        boxes.draw(above, report)
    else:
        _draw_lines(above, report, colours)
    places = below.subplots(len(shown), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, row in zip(places, shown, strict=True):
        _draw_series(axes, report, row, colours[row.candidate.kind])
    figure.suptitle(
        f"{report.pipeline.name}: {counted(report.summed.ticks, 'tick')} of "
        f"{counted(report.summed.operator.group_count, 'group')}, "
        f"{counted(report.sample.stream_count, 'user')}, runs: {report.runs}",
        x=0.01,
        ha="left",
    )
    return figure


def _draw_lines(above: SubFigure, report: AggregateReport, colours: dict[str, str]) -> None:
    by_window = len({row.candidate.window for row in report.rows}) > 1
    panels = _panels(report, by_window)
    places = above.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, rows in zip(places, panels, strict=True):
        _draw_errors(axes, report, rows, colours, by_window)
    places[0].set_ylabel("mean absolute error (MAE)")
    found = [axes.get_legend_handles_labels() for axes in places]
    legend = {label: handle for one in found for handle, label in zip(*one, strict=True)}
    above.legend(list(legend.values()), list(legend), loc="outside right center", frameon=False)


def _panels(report: AggregateReport, by_window: bool) -> list[list[AggregateRow]]:
    """All rows in one; but one for each epsilon, if windows are on the axis."""
    if not by_window:
        return [list(report.rows)]
    epsilons = sorted({row.candidate.epsilon for row in report.rows})
    return [[row for row in report.rows if row.candidate.epsilon == one] for one in epsilons]


def _draw_errors(
    axes: Axes,
    report: AggregateReport,
    rows: Sequence[AggregateRow],
    colours: dict[str, str],
    by_window: bool,
) -> None:
    def place(row: AggregateRow) -> float:
        return row.candidate.window if by_window else row.candidate.epsilon

    for kind, colour in colours.items():
        points = sorted((row for row in rows if row.candidate.kind == kind), key=place)
        errors = [row.utility.errors.absolute for row in points]
        axes.errorbar(
            [place(row) for row in points],
            [error.value for error in errors],
            yerr=[error.standard_error for error in errors],
            color=colour,
            marker="o",
            markersize=4,
            linewidth=1.6,
            capsize=2,
            label=kind,
        )
    guess = report.guess.absolute.value
    axes.axhline(guess, color=_GUESS, ls="--", lw=1.2, label=f"{GUESS}\n(true data)")
    for row in rows:
        if row.configured:
            error = row.utility.errors.absolute.value
            ring = "as configured"
            axes.plot(place(row), error, "o", color=_TRUTH, fillstyle="none", ms=10, label=ring)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted({place(row) for row in rows})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda at, _: f"{at:g}")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda at, _: f"{at:,g}")
    if by_window:
        axes.set_xlabel("window, in ticks")
        axes.set_title(f"epsilon {rows[0].candidate.epsilon:g}", fontsize="medium")
    else:
        axes.set_xlabel(f"epsilon, in any {rows[0].candidate.window:,} ticks in a row")
    _tidy(axes)


def _in_time(report: AggregateReport) -> list[AggregateRow]:
    """The pipeline's own strategy and the best other one."""
    own = report.own
    promise = own.candidate.epsilon, own.candidate.window
    others = [
        row
        for row in report.rows
        if (row.candidate.epsilon, row.candidate.window) == promise
        and row.candidate.kind != own.candidate.kind
    ]
    return [own, *sorted(others, key=lambda row: row.utility.errors.absolute.value)[:1]]


def _draw_series(axes: Axes, report: AggregateReport, row: AggregateRow, colour: str) -> None:
    truth, summed = report.truth, report.summed
    ticks, group = summed.operator.in_ticks(), truth.largest_group
    starts = [ticks.end(summed.first_tick + n - 1) for n in range(summed.ticks)]
    times = np.array(starts, dtype="datetime64[ms]")
    candidate, series = row.candidate, row.utility.series
    axes.plot(
        times, truth.in_ones(truth.figures[:, group]), color=_TRUTH, lw=1.0, label="true figure"
    )
    axes.step(
        times, series.values, where="post", color=colour, lw=1.4, label=f"{candidate.kind}, one run"
    )
    axes.fill_between(
        times,
        series.values - _BAND * series.noise,
        series.values + _BAND * series.noise,
        where=~np.isnan(series.noise),
        step="post",
        color=colour,
        alpha=0.18,
        linewidth=0.0,
        label=f"± {_BAND:g} standard errors of its noise",
    )
    key = summed.operator.figures().keys[group].decode()
    name = f"the largest group, {key}" if key else "the only group"
    windowed = candidate.kind not in UNDER_POLICIES
    window = f" in {candidate.window} ticks" if windowed else " in any interval"
    axes.set_title(
        f"{candidate.kind}, epsilon {candidate.epsilon:g}{window}: {name}",
        fontsize="medium",
        loc="left",
    )
    axes.legend(edgecolor="none", fontsize="small", ncols=3, loc="upper right")
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
