"""Draw one picture of an evaluation: blocks of panels, one below the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Literal, Protocol

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from fugu.dataflows.offline.evaluation.estimates import Estimate

COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#3f9fb5", "#444444")
DARK, RED = "#222222", "#c0392b"
AS_CONFIGURED = "the pipeline as configured"
_INCHES_PER_LETTER = 0.08


class Panel(Protocol):
    """Draw one question."""

    def draw(self, axes: Axes) -> None:
        """Draw it, with labels for the legend."""


@dataclass(frozen=True)
class Line:
    """Estimates by what is on the axis; a ring marks the point at `configured`."""

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

    def draw(self, axes: Axes) -> None:
        """Draw lines with standard errors, and a tick for every place that occurs."""
        for line in self.lines:
            axes.errorbar(
                [place for place, _ in line.points],
                [one.value for _, one in line.points],
                yerr=[one.standard_error for _, one in line.points],
                color=line.colour,
                linestyle=line.style,
                marker="x" if line.style == ":" else "o",
                markersize=5,
                linewidth=1.6,
                capsize=2,
                label=line.label,
            )
            ring = [(place, one.value) for place, one in line.points if place == line.configured]
            for point in ring:
                axes.plot(*point, "o", color=DARK, fillstyle="none", ms=11, label=AS_CONFIGURED)
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
        self._mark_places(axes)
        axes.set_title(self.title, fontsize="medium")

    def _mark_places(self, axes: Axes) -> None:
        found = {float(f"{place:.3g}") for line in self.lines for place, _ in line.points}
        if found:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(sorted(found)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda at, _: f"{at:.3g}")
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)


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


def _draw(figure: SubFigure, block: Block, width: float) -> None:
    shape = len(block.panels), len(block.panels[0])
    shared: Literal["row", "all"] = "row" if block.shared else "all"
    grid = figure.subplots(*shape, sharex="col", sharey=shared, squeeze=False)
    for panels, places in zip(block.panels, grid, strict=True):
        for panel, axes in zip(panels, places, strict=True):
            panel.draw(axes)
            axes.label_outer()
            axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
    shown = [axes.get_legend_handles_labels() for axes in grid.flat]
    legend = {label: handle for found in shown for handle, label in zip(*found, strict=True)}
    if block.shared:
        longest = max(map(len, legend), default=1)
        columns = min(3, max(1, int(width / (0.6 + _INCHES_PER_LETTER * longest))))
        labels, handles = list(legend), list(legend.values())
        where: Literal["outside lower center"] = "outside lower center"
        figure.legend(handles, labels, loc=where, ncols=columns, frameon=False)
