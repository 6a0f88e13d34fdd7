"""Draw leakage over time: what earlier ticks tell about a tick, and what all ticks tell.

Every epsilon has a colour, and its limit, if any, is dashed. The scale is logarithmic, so that
small epsilons can be read beside large ones.
"""

from itertools import cycle
from math import isfinite
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from fugu.dataflows.offline.leakage.report import Report

_COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#444444")
_ALPHA, _LIMIT = "#c0392b", "#444444"


def save(report: Report, name: str, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(9.6, 4.4), dpi=150, layout="constrained")
    before, total = figure.subplots(1, 2, sharey=True)
    for course, colour in zip(report.courses, cycle(_COLOURS), strict=False):
        limits = course.limits
        bounded = "" if isfinite(limits.total) else ", without a limit"
        label = f"{course.epsilon:g} nats per tick{bounded}"
        _draw(before, course.over_time.backward, limits.backward, colour, label)
        _draw(total, course.over_time.total, limits.total, colour, label)
    before.set_title("by releases up to that tick (backward)", loc="left", fontsize=10)
    total.set_title("by all releases (total)", loc="left", fontsize=10)
    before.set_ylabel("nats leaked about one tick")
    for axes in (before, total):
        if report.allowance is not None:
            axes.axhline(report.allowance.alpha, color=_ALPHA, linewidth=1.0, label="alpha")
        axes.set_xlabel("tick")
        axes.set_xlim(1, max(2, report.ticks))
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda nats, _: f"{nats:g}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    before.plot([], color=_LIMIT, linewidth=1.0, linestyle="--", label="limit")
    figure.suptitle(f"{name}: {report.values} values, {report.ticks} ticks", x=0.01, ha="left")
    figure.legend(
        *before.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(path)


def _draw(axes: Axes, leaked: tuple[float, ...], limit: float, colour: str, label: str) -> None:
    ticks = range(1, len(leaked) + 1)
    marker = "o" if len(leaked) <= 20 else ""
    axes.plot(ticks, leaked, color=colour, marker=marker, markersize=3.5, lw=1.6, label=label)
    if isfinite(limit):
        axes.axhline(limit, color=colour, linewidth=1.0, linestyle="--")
