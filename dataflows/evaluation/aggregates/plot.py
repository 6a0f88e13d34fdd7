"""Two pictures in one: what figures err, by window or by epsilon; and the largest group over time,
as it is and as it is released, by the pipeline's own strategy and by the best other one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from dataflows.evaluation.aggregates.report import GUESS, AggregateReport, AggregateRow

_COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
_TRUTH, _GUESS = "#222222", "#c0392b"
_BAND = 2.0


def save(report: AggregateReport, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
    colours = dict(zip(kinds, cycle(_COLOURS), strict=False))
    shown = _in_time(report)
    figure = Figure(figsize=(9.0, 4.2 + 2.1 * len(shown)), dpi=150, layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(3.4, 0.6 + 2.1 * len(shown)))
    by_window = len({row.candidate.window for row in report.rows}) > 1
    _draw_errors(
        above.subplots(1, len(_panels(report, by_window)), sharey=True, squeeze=False)[0],
        report,
        colours,
        by_window,
    )
    handles, labels = above.axes[0].get_legend_handles_labels()
    above.legend(handles, labels, loc="outside right center", frameon=False)
    places = below.subplots(len(shown), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, row in zip(places, shown, strict=True):
        _draw_series(axes, report, row, colours[row.candidate.kind])
    sample = report.sample
    figure.suptitle(
        f"{report.pipeline.name}: {report.summed.ticks:,} ticks of "
        f"{report.summed.operator.group_count:,} groups, {sample.stream_count:,} users, "
        f"runs: {report.runs}",
        x=0.01,
        ha="left",
    )
    figure.savefig(path)


def _panels(report: AggregateReport, by_window: bool) -> list[float]:
    """One for each epsilon, if windows are on the axis."""
    return sorted({row.candidate.epsilon for row in report.rows}) if by_window else [0.0]


def _draw_errors(
    places: Sequence[Axes], report: AggregateReport, colours: dict[str, str], by_window: bool
) -> None:
    for axes, epsilon in zip(places, _panels(report, by_window), strict=True):
        rows = [row for row in report.rows if not by_window or row.candidate.epsilon == epsilon]
        for kind, colour in colours.items():
            points = [row for row in rows if row.candidate.kind == kind]
            places_of = [_place(row, by_window) for row in points]
            errors = [row.utility.errors.absolute for row in points]
            axes.errorbar(
                places_of,
                [error.value for error in errors],
                yerr=[error.standard_error for error in errors],
                color=colour,
                marker="o",
                markersize=4,
                linewidth=1.6,
                capsize=2,
                label=kind,
            )
        axes.axhline(
            report.guess.absolute.value,
            color=_GUESS,
            ls="--",
            lw=1.2,
            label=f"{GUESS}\n(true data)",
        )
        for row in rows:
            if row.configured:
                place, error = _place(row, by_window), row.utility.errors.absolute.value
                ring = {"color": _TRUTH, "fillstyle": "none", "ms": 10, "linestyle": "none"}
                axes.plot(place, error, marker="o", label="as configured", **ring)
        ticks = sorted({_place(row, by_window) for row in rows})
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda place, _: f"{place:g}")
        axes.yaxis.set_major_formatter(lambda error, _: f"{error:,g}")
        window = report.rows[0].candidate.window
        axes.set_xlabel("window, in ticks" if by_window else f"epsilon, in any {window} ticks")
        if by_window:
            axes.set_title(f"epsilon {epsilon:g}", fontsize="medium")
        _tidy(axes)
    places[0].set_ylabel("mean absolute error (MAE)")


def _place(row: AggregateRow, by_window: bool) -> float:
    return row.candidate.window if by_window else row.candidate.epsilon


def _in_time(report: AggregateReport) -> list[AggregateRow]:
    """The pipeline's own strategy, as configured if that is there, and the best other one."""
    own = next((row for row in report.rows if row.configured), report.rows[0])
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
    starts = [ticks.end(summed.first_tick + n - 1) / 1000.0 for n in range(summed.ticks)]
    times = date2num([datetime.fromtimestamp(start, UTC) for start in starts])
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
    groups = summed.operator.groups
    name = "the only group" if groups is None else f"the largest group, {groups[group]}"
    axes.set_title(
        f"{candidate.kind}, epsilon {candidate.epsilon:g} in {candidate.window} ticks: {name}",
        fontsize="medium",
        loc="left",
    )
    axes.legend(frameon=False, fontsize="small", ncols=3, loc="upper right")
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
