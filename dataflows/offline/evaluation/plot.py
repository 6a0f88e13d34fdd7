"""Draw one picture of an evaluation: blocks of panels, one below the other.

Lines have their names at their right ends, and a panel has at most six: those of the pipeline as
configured, and those that err least.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isnan, log
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.operators.guarantee import Notion

COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
DARK, RED = "#222222", "#c0392b"
MOST_LINES = 6
"""More are not told apart at a glance."""
_INCHES_PER_LETTER = 0.08
_APART = 0.065
"""The least distance between names of lines, as a part of the height of a panel."""
_LABEL = 0.04
"""The least distance between the labels of places, as a part of the axis."""
_MANY_TIMES = 20.0
"""Errors that differ more than so are drawn over a logarithmic axis."""
_LEADER = {"arrowstyle": "-", "lw": 0.5, "alpha": 0.6, "shrinkA": 0, "relpos": (0.0, 0.5)}
_FIGURES: dict[Notion, str] = {
    "ldp": "nats per record, without any model (ldp)",
    "sip": "nats per record, relative to the model (sip)",
    "delay-law": "epsilon, in nats",
    "w-event-ldp": "nats per record of a window, without any model",
}

Panel = Callable[[Axes], None]
"""Draws one question, with labels for the legend."""


@dataclass(frozen=True)
class Line:
    """Hold estimates by what is on the axis; a ring marks the point at `configured`."""

    label: str
    colour: str
    points: Sequence[tuple[float, Estimate]]
    style: str = "-"
    configured: float | None = None

    def error_at(self, place: float | None) -> float:
        """Return what is drawn at a place, or at the nearest one there is, in proportion."""
        if place is None:
            return min(one.value for _, one in self.points)
        return min(self.points, key=lambda point: abs(log(point[0] / place)))[1].value


@dataclass(frozen=True)
class Lines:
    """Draw lines over a logarithmic axis, and a `level` with its label that holds everywhere.

    Of more than `MOST_LINES` the title says how many are drawn.
    """

    lines: Sequence[Line]
    x_label: str
    y_label: str
    title: str = ""
    logarithmic: bool = False
    level: tuple[str, float] | None = None

    def __call__(self, axes: Axes) -> None:
        """Draw lines with standard errors, and a tick for every place that occurs."""
        lines = self.shown
        for line in lines:
            at = [place for place, _ in line.points]
            values = [one.value for _, one in line.points]
            axes.errorbar(
                at,
                values,
                yerr=[one.standard_error for _, one in line.points],
                color=line.colour,
                linestyle=line.style,
                marker="o",
                markersize=5,
                linewidth=1.6,
                capsize=2,
            )
            for point in zip(at, values, strict=True):
                if point[0] == line.configured:
                    axes.plot(*point, "o", color=DARK, fillstyle="none", ms=11)
        if self.level is not None:
            axes.axhline(self.level[1], color=RED, ls="--", lw=1.2)
        if self.logarithmic:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(lambda at, _: f"{at:,g}")
        else:
            axes.set_ylim(bottom=0.0)
        places = {float(f"{place:.3g}") for line in lines for place, _ in line.points}
        if places:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(_told_apart(sorted(places))))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda at, _: f"{at:.3g}")
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        few = f"{len(lines)} of {len(self.lines)} lines: those that err least"
        said = [self.title, few if len(lines) < len(self.lines) else ""]
        axes.set_title(", ".join(filter(None, said)), fontsize="medium", loc="left")
        self._name(axes, lines)

    @property
    def shown(self) -> Sequence[Line]:
        """Return the lines that are drawn: own ones, and those that err least where those stand."""
        own = next((one.configured for one in self.lines if one.configured is not None), None)
        first = sorted(
            self.lines, key=lambda one: (one.configured is None, one.error_at(own), one.label)
        )
        chosen = first[: MOST_LINES - (self.level is not None)]
        return [one for one in self.lines if one in chosen]

    def _name(self, axes: Axes, lines: Sequence[Line]) -> None:
        """Write names beside the right ends of lines, apart from each other."""
        named = [
            _Name(
                one.label + " (ringed: as configured)" * (one.configured is not None),
                one.colour,
                (one.points[-1][0], _height(axes, one.points[-1][1].value)),
            )
            for one in lines
        ]
        if self.level is not None:
            end = axes.get_xlim()[1], _height(axes, self.level[1])
            named.append(_Name(self.level[0], RED, end))
        named.sort(key=lambda one: one.end[1])
        heights = _spread([one.end[1] for one in named])
        for one, height in zip(named, heights, strict=True):
            axes.annotate(
                one.text,
                one.end,
                (1.02, height),
                xycoords=("data", "axes fraction"),
                textcoords="axes fraction",
                color=one.colour,
                va="center",
                fontsize="small",
                arrowprops=_LEADER | {"color": one.colour},
                annotation_clip=False,
            )


@dataclass(frozen=True)
class _Name:
    """Hold the name of a line, and where it ends: its height is a part of that of the panel."""

    text: str
    colour: str
    end: tuple[float, float]


def _height(axes: Axes, value: float) -> float:
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        low, high, value = log(low), log(high), log(max(value, low))
    return (value - low) / (high - low)


def _told_apart(places: Sequence[float]) -> Sequence[float]:
    """Leave out places, in order, whose labels would stand on that of the one before.

    >>> _told_apart([1.0, 2.0, 2.01, 4.0])
    [1.0, 2.0, 4.0]
    """
    least = _LABEL * log(places[-1] / places[0])
    kept = [places[0]]
    for place in places[1:]:
        if log(place / kept[-1]) > least:
            kept.append(place)
    return kept


def _spread(heights: Sequence[float]) -> Sequence[float]:
    """Return heights, in order, moved apart as little as keeps them `_APART` and in the panel."""
    apart, room = list(heights), 1.0
    for place in range(1, len(apart)):
        apart[place] = max(apart[place], apart[place - 1] + _APART)
    for place in reversed(range(len(apart))):
        apart[place] = min(apart[place], room)
        room = apart[place] - _APART
    return apart


@dataclass(frozen=True)
class Block:
    """Arrange rows of panels, so many inches high; `shared` ones have one legend."""

    panels: Sequence[Sequence[Panel]]
    height: float
    shared: bool = True


def save(path: Path, title: str, blocks: Sequence[Block], width: float = 9.0) -> None:
    """Write the picture; its format follows from the name."""
    heights = [block.height for block in blocks]
    with rc_context({"date.converter": "concise"}):
        figure = Figure(figsize=(width, sum(heights)), dpi=150, layout="constrained")
        parts = figure.subfigures(len(blocks), 1, squeeze=False, height_ratios=heights)[:, 0]
        for part, block in zip(parts, blocks, strict=True):
            _draw(part, block, width)
        figure.suptitle(title, x=0.01, ha="left")
        figure.savefig(path)


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Give each name a colour, in the order in which they come."""
    return dict(zip(dict.fromkeys(names), cycle(COLOURS), strict=False))


def save_over_nats(report: Report[Any], path: Path) -> None:
    """Draw the error that rows are ranked by over the privacy that they prove.

    What stands above one another leaks equally much. What promises nothing has no place there.
    """
    sample, notion = report.sample, report.notions[0]
    title = (
        f"{report.pipeline}: {sample.records:,} records of {sample.stream_count:,} streams, "
        f"runs: {report.runs}; lower is better"
    )
    save(path, title, [Block([[_over_nats(report, notion)]], 4.2)])


def _draw(figure: SubFigure, block: Block, width: float) -> None:
    shape = len(block.panels), len(block.panels[0])
    shared: Literal["row", "all"] = "row" if block.shared else "all"
    grid = figure.subplots(*shape, sharex="col", sharey=shared, squeeze=False)
    for panels, places in zip(block.panels, grid, strict=True):
        for panel, axes in zip(panels, places, strict=True):
            panel(axes)
            axes.label_outer()
            axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
    if block.shared:
        shown = [axes.get_legend_handles_labels() for axes in grid.flat]
        legend = {label: handle for found in shown for handle, label in zip(*found, strict=True)}
        longest = max(map(len, legend), default=1)
        columns = min(3, max(1, int(width / (0.6 + _INCHES_PER_LETTER * longest))))
        labels, handles = list(legend), list(legend.values())
        where: Literal["outside lower center"] = "outside lower center"
        if legend:
            figure.legend(handles, labels, loc=where, ncols=columns, frameon=False)


def _over_nats(report: Report[Any], notion: Notion) -> Lines:
    what = ""
    found: dict[str, list[tuple[float, Estimate, Row[Any]]]] = {}
    for row in report.rows:
        nats, ranked = row.candidate.place(notion), row.utility.ranked_by()
        if row.candidate.sound and nats is not None and ranked and not isnan(ranked[1].value):
            what = ranked[0]
            found.setdefault(row.candidate.name, []).append((nats, ranked[1], row))
    colours = colours_of(found)
    lines = [
        Line(
            name,
            colours[name],
            sorted(((nats, one) for nats, one, _ in points), key=itemgetter(0)),
            configured=next((nats for nats, _, row in points if row.configured), None),
        )
        for name, points in found.items()
    ]
    errors = [one.value for line in lines for _, one in line.points]
    apart = bool(errors) and 0.0 < _MANY_TIMES * min(errors) < max(errors)
    return Lines(lines, _FIGURES[notion], "", what, logarithmic=apart)
