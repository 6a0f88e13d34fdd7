"""Draw a policy document over time: who hides what when, and what that takes.

Above, a row of bars for each policy, by collection; below, by how much one individual can change a
tick, how many ticks of an interval can differ, and the noise that follows, as steps. Time is that
of local clocks.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fugu.dataflows.policies.course import Course, about, amount, in_unit

_COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#444444")
_STEPS, _LIMIT = "#5b7083", "#c0392b"
_ROW_HEIGHT, _STEPS_HEIGHT, _NOISE_HEIGHT = 0.3, 1.2, 1.8
"""Inches."""
_DAY = 86_400_000
_FORMATS = ["%Y", "%b", "%a %d", "%H:%M", "%H:%M", "%H:%M:%S"]
_FIRST_FORMATS = ["", "%Y", "%a %d %b", "%a %d", "%H:%M", "%H:%M"]
"""Formats of years, months, days, hours, minutes and seconds; the second list where a larger unit
begins."""


def save(course: Course, name: str, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    document = course.document
    rows = sum(len(collection.policies) for collection in document.policies.collections)
    heights = [max(2, rows) * _ROW_HEIGHT, _STEPS_HEIGHT, _STEPS_HEIGHT, _NOISE_HEIGHT]
    figure = Figure(figsize=(9.6, sum(heights) + 1.4), dpi=150, layout="constrained")
    panels = figure.subplots(4, 1, sharex=True, height_ratios=heights)
    bars, changes, affected, noise = panels
    _draw_bars(bars, course)
    _draw_changes(changes, course)
    _draw_steps(affected, course, [stretch.affected for stretch in course.stretches])
    affected.set_title("ticks of an interval that can differ, the most (δ)", loc="left", fontsize=9)
    affected.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    _draw_noise(noise, course)
    noise.set_xlim(_in_days(course, course.start), _in_days(course, course.end + 1))
    _name_days(noise, document.zone)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        axes.grid(axis="x", color="#e5e8ec", linewidth=0.8)
        axes.tick_params(labelsize=9)
    handles = noise.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower left", frameon=False, fontsize=9, ncols=4)
    title = f"{name}: {course.first_day} to {course.last_day}, {document.section.grid.zone}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path)


def _name_days(axes: Axes, zone: ZoneInfo) -> None:
    locator = AutoDateLocator(tz=zone, minticks=4, maxticks=10)
    formatter = ConciseDateFormatter(
        locator, tz=zone, formats=_FORMATS, zero_formats=_FIRST_FORMATS
    )
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(formatter)


def _draw_bars(axes: Axes, course: Course) -> None:
    labels: list[str] = []
    collections = course.document.policies.collections
    for collection, colour in zip(collections, cycle(_COLOURS), strict=False):
        for policy in collection.policies:
            spans = [
                (_in_days(course, one.occurrence.start), _in_days(course, one.occurrence.ticks))
                for one in course.hidden
                if (one.collection, one.policy) == (collection.id, policy.id)
            ]
            axes.broken_barh(spans, (len(labels) - 0.32, 0.64), color=colour)
            labels.append(f"{collection.id}: {policy.id}")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(max(1, len(labels)) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_title("hidden", loc="left", fontsize=9)


def _draw_changes(axes: Axes, course: Course) -> None:
    query = course.document.section.query
    most = course.document.policies.largest_sensitivity
    changes = [float(amount(one.relevance.sensitivity, query)) for one in course.stretches]
    _draw_steps(axes, course, changes)
    axes.axhline(float(amount(most, query)), color=_LIMIT, linewidth=1.0, linestyle="--")
    axes.set_title(
        "by how much one individual can change a tick (Δ_t); "
        f"dashed: without policies, {in_unit(most, query)}",
        loc="left",
        fontsize=9,
    )
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))


def _draw_noise(axes: Axes, course: Course) -> None:
    """Draw the noise of all, and over it what collections would have alone, those that cost most.

    Colours are those of the bars.
    """
    found, query = course.attribution, course.document.section.query
    edges = [_in_days(course, tick) for tick in [*found.starts.tolist(), course.end + 1]]
    one = float(query.resolution)
    axes.stairs(found.noise * one, edges, fill=True, color=_STEPS, alpha=0.35, label="all together")
    coloured = zip(found.collections.items(), cycle(_COLOURS), strict=False)
    open_ones = [(name, share, colour) for (name, share), colour in coloured if share.ticks]
    costly = sorted(open_ones, key=lambda one: -one[1].saved)
    for name, share, colour in costly[: len(_COLOURS)]:
        axes.stairs(share.alone * one, edges, color=colour, linewidth=1.6, label=f"{name}, alone")
    axes.set_ylim(0, 1.08 * (found.most * one or 1.0))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    unit = f"{query.unit}, " if query.unit else ""
    axes.set_title(
        f"expected noise by collection ({unit}Δ_t δ / epsilon with epsilon "
        f"{course.document.section.epsilon:g}); the mean is {about(found.mean, query)}",
        loc="left",
        fontsize=9,
    )


def _draw_steps(axes: Axes, course: Course, values: Sequence[float]) -> None:
    starts = [stretch.start for stretch in course.stretches]
    edges = [_in_days(course, tick) for tick in [*starts, course.end + 1]]
    axes.stairs(values, edges, fill=True, color=_STEPS, alpha=0.35)
    axes.stairs(values, edges, color=_STEPS, linewidth=1.2)
    axes.set_ylim(0, max(1.0, *values) * 1.08)


def _in_days(course: Course, ticks: int) -> float:
    """Return days since 1970, as the axis of time counts."""
    return ticks * course.document.policies.tick_milliseconds / _DAY
