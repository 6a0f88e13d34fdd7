"""Draw one picture of an evaluation: blocks of panels, one below the other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.operators.mechanism import Notion

COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
DARK, RED = "#222222", "#c0392b"
_INCHES_PER_LETTER = 0.08
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


@dataclass(frozen=True)
class Lines:
    """Draw lines over a logarithmic axis, and a `level` with its label that holds everywhere."""

    lines: Sequence[Line]
    x_label: str
    y_label: str
    title: str = ""
    logarithmic: bool = False
    level: tuple[str, float] | None = None

    def __call__(self, axes: Axes) -> None:
        """Draw lines with standard errors, and a tick for every place that occurs."""
        for line in self.lines:
            places = [place for place, _ in line.points]
            values = [one.value for _, one in line.points]
            axes.errorbar(
                places,
                values,
                yerr=[one.standard_error for _, one in line.points],
                color=line.colour,
                linestyle=line.style,
                marker="x" if line.style == ":" else "o",
                markersize=5,
                linewidth=1.6,
                capsize=2,
                label=line.label,
            )
            for point in zip(places, values, strict=True):
                if point[0] == line.configured:
                    label = "the pipeline as configured"
                    axes.plot(*point, "o", color=DARK, fillstyle="none", ms=11, label=label)
        if self.level is not None:
            label, level = self.level
            axes.axhline(level, color=RED, ls="--", lw=1.2, label=label)
        if self.logarithmic:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(lambda at, _: f"{at:,g}")
        else:
            axes.set_ylim(bottom=0.0)
        found = {float(f"{place:.3g}") for line in self.lines for place, _ in line.points}
        if found:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(sorted(found)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda at, _: f"{at:.3g}")
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        axes.set_title(self.title, fontsize="medium")


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
    """Draw a column of panels for each figure that privacy is stated in.

    What stands above one another leaks equally much in that figure. An operator that promises
    nothing is drawn dashed, at the epsilon that it claims, where it claims one.
    """
    names = list(dict.fromkeys(name for row in report.rows for name in row.utility.panels()))
    panels = [[_over_nats(report, name, notion) for notion in report.notions] for name in names]
    sample = report.sample
    title = (
        f"{report.pipeline}: {sample.records:,} records of {sample.stream_count:,} streams, "
        f"runs: {report.runs}"
    )
    width = max(6.5, 4.6 * len(report.notions))
    save(path, title, [Block(panels, 2.5 * len(names) + 1.3)], width)


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
        figure.legend(handles, labels, loc=where, ncols=columns, frameon=False)


def _over_nats(report: Report[Any], name: str, notion: Notion) -> Lines:
    coloured = colours_of(row.candidate.name for row in report.rows if row.candidate.sound)
    found: dict[tuple[str, str], list[tuple[float, Estimate, Row[Any]]]] = {}
    for row in report.rows:
        nats = _nats(row.candidate, notion)
        for label, one in row.utility.panels()[name].items():
            if nats is not None:
                found.setdefault((row.candidate.name, label), []).append((nats, one, row))
    lines = []
    for (kind, label), points in found.items():
        sound = points[0][2].candidate.sound
        shown = kind if sound else f"{kind} (unsound: at the epsilon it claims)"
        lines.append(
            Line(
                f"{shown}, {label}" if label else shown,
                coloured.get(kind, RED),
                sorted(((nats, one) for nats, one, _ in points), key=itemgetter(0)),
                ":" if label else "-" if sound else "--",
                next((nats for nats, _, row in points if row.configured and not label), None),
            )
        )
    return Lines(lines, _FIGURES[notion], name, logarithmic=name.startswith("MSE"))


def _nats(candidate: Candidate, notion: Notion) -> float | None:
    """Place a candidate, or nowhere.

    A law of delays stands at what it has, and what it is compared with at its epsilon.
    """
    exact = candidate.per_record(notion)
    if notion == "delay-law":
        return candidate.epsilon if exact is None else exact
    if candidate.sound:
        return exact
    claimed = candidate.mechanism.guarantees()[0].notion
    return candidate.epsilon if claimed == notion else None
