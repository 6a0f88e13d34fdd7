"""Hold a figure of a paper as it was computed anew, and draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

Points = Sequence[tuple[float, float]]
Verdict = Literal["reproduced", "differs", "refuted", "beyond the papers"]
_COLOURS = ("#1f6f8b", "#c8553d", "#2b2b2b", "#6a994e", "#8e6bbf", "#b08900", "#d16ba5")
_STYLES = ("-", "--", "-.", ":")
_APART = 0.07
"""The least distance between names beside lines, as a share of the height."""
_MARKED = 60
"""Lines of so few points show each of them, and are told apart by their dashes, too."""
_IN_A_ROW = 3


@dataclass(frozen=True)
class Panel:
    """Draw some curves by name over one quantity."""

    title: str
    across: str
    up: str
    curves: Mapping[str, Points]
    logarithmic: tuple[bool, bool] = (False, True)


@dataclass(frozen=True)
class Figure:
    """Say what of a printed figure holds: `sentence` follows from what `panels` show."""

    name: str
    source: str
    panels: Sequence[Panel]
    verdict: Verdict
    sentence: str

    def draw(self, path: Path) -> None:
        """Write the picture."""
        panels = self.panels
        rows = ceil(len(panels) / _IN_A_ROW)
        columns = ceil(len(panels) / rows)
        size = (5.0 * columns, 3.5 * rows)
        canvas = Canvas(figsize=size, dpi=100, layout="constrained")
        for place, panel in enumerate(panels, 1):
            _draw(panel, canvas.add_subplot(rows, columns, place))
        canvas.savefig(path, pil_kwargs={"optimize": True})


def _draw(panel: Panel, axes: Axes) -> None:
    for number, points in enumerate(panel.curves.values()):
        colour, marked = _COLOURS[number % len(_COLOURS)], len(points) <= _MARKED
        style, marker = (_STYLES[number % len(_STYLES)], "o") if marked else ("-", "")
        axes.plot(*zip(*points, strict=True), style, color=colour, marker=marker, ms=2.5, lw=1.2)
    axes.set_title(panel.title, fontsize="medium")
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    for wanted, scale in zip(panel.logarithmic, (axes.set_xscale, axes.set_yscale), strict=True):
        if wanted:
            scale("log")
    axes.grid(color="#e9ecef", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    _name(panel, axes)


def _name(panel: Panel, axes: Axes) -> None:
    """Write the name of each curve beside its end."""
    axes.autoscale_view()
    shown = axes.transData + axes.transAxes.inverted()
    ends = [float(shown.transform(points[-1])[1]) for points in panel.curves.values()]
    names = list(panel.curves)
    for number, place in spread(ends).items():
        axes.annotate(
            names[number],
            (1.02, place),
            xycoords="axes fraction",
            color=_COLOURS[number % len(_COLOURS)],
            fontsize="small",
            va="center",
            annotation_clip=False,
        )


def spread(ends: Sequence[float]) -> dict[int, float]:
    """Return a place near each end, by its number, so that none covers another."""
    order = sorted(range(len(ends)), key=ends.__getitem__)
    places: list[float] = []
    for number in order:
        places.append(max(ends[number], places[-1] + _APART if places else 0.0))
    highest = [1.0 - _APART * above for above in reversed(range(len(ends)))]
    return {number: min(pair) for number, *pair in zip(order, places, highest, strict=True)}
