"""One picture of an evaluation: a column of panels for each figure that privacy is stated in.

What stands above one another leaks equally much in that figure. An operator that promises nothing
is drawn dashed, at the epsilon that it claims, where it claims one.
"""

from itertools import cycle
from operator import itemgetter
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.operators.mechanism import Notion

_COLOURS = ("#1f4e79", "#d9822b", "#2e8b57", "#7b4fa3", "#8c6d1f", "#444444")
_UNSOUND = "#c0392b"
_FIGURES: dict[Notion, str] = {
    "ldp": "nats per record, without any model (ldp)",
    "sip": "nats per record, relative to the model (sip)",
    "delay-law": "epsilon, in nats",
}
_INCHES_PER_LETTER = 0.08
_CONFIGURED = "the pipeline as configured"

Point = tuple[Row, float, Estimate]
"""A candidate, the nats it is drawn at, and what was measured."""


def save(report: Report, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    panels = list(dict.fromkeys(panel for row in report.rows for panel in row.utility.panels()))
    notions = report.notions
    size = (max(6.5, 4.6 * len(notions)), 2.5 * len(panels) + 1.3)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    grid = figure.subplots(len(panels), len(notions), sharex="col", sharey="row", squeeze=False)
    for panel, places in zip(panels, grid, strict=True):
        for notion, axes in zip(notions, places, strict=True):
            _draw(axes, report, panel, notion)
        places[0].set_ylabel(panel)
    for notion, axes in zip(notions, grid[-1], strict=True):
        axes.set_xlabel(_FIGURES[notion])
        _mark_nats(axes, report, notion)
    sample = report.sample
    figure.suptitle(
        f"{report.pipeline.name}: {sample.records:,} records of {sample.stream_count:,} streams, "
        f"runs: {report.runs}",
        x=0.01,
        ha="left",
    )
    shown = [axes.get_legend_handles_labels() for axes in grid.flat]
    legend = {label: handle for found in shown for handle, label in zip(*found, strict=True)}
    columns = min(
        3, max(1, int(size[0] / (0.6 + _INCHES_PER_LETTER * max(map(len, legend), default=1))))
    )
    figure.legend(
        list(legend.values()),
        list(legend),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )
    figure.savefig(path)


def _draw(axes: Axes, report: Report, panel: str, notion: Notion) -> None:
    coloured = [row.candidate.name for row in report.rows if row.candidate.sound]
    colours = dict(zip(dict.fromkeys(coloured), cycle(_COLOURS), strict=False))
    for (kind, line), points in _lines(report, panel, notion).items():
        sound = points[0][0].candidate.sound
        name = kind if sound else f"{kind} (unsound: at the epsilon it claims)"
        axes.errorbar(
            [nats for _, nats, _ in points],
            [estimate.value for _, _, estimate in points],
            yerr=[estimate.standard_error for _, _, estimate in points],
            color=colours.get(kind, _UNSOUND),
            marker="x" if line else "o",
            markersize=5,
            linestyle=":" if line else "-" if sound else "--",
            linewidth=1.6,
            capsize=2,
            label=f"{name}, {line}" if line else name,
        )
        marked = [(nats, e.value) for row, nats, e in points if row.configured and not line]
        for nats, value in marked:
            axes.plot(nats, value, "o", color="#222222", fillstyle="none", ms=11, label=_CONFIGURED)
    if panel.startswith("MSE"):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
    axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _lines(report: Report, panel: str, notion: Notion) -> dict[tuple[str, str], list[Point]]:
    """The points of every line, by kind of operator and label, in the order of epsilon."""
    found: dict[tuple[str, str], list[Point]] = {}
    for row in report.rows:
        nats = _nats(row.candidate, notion)
        for line, estimate in row.utility.panels()[panel].items():
            if nats is not None:
                found.setdefault((row.candidate.name, line), []).append((row, nats, estimate))
    return {line: sorted(points, key=itemgetter(1)) for line, points in found.items()}


def _nats(candidate: Candidate, notion: Notion) -> float | None:
    """Where a candidate stands; None: nowhere. What displaces values stands at what its law has,
    and what is compared with it at its epsilon."""
    if notion == "delay-law":
        exact = candidate.per_record(notion)
        return candidate.epsilon if exact is None else exact
    if candidate.sound:
        return candidate.per_record(notion)
    claimed = candidate.mechanism.guarantees()[0].notion
    return candidate.epsilon if claimed == notion else None


def _mark_nats(axes: Axes, report: Report, notion: Notion) -> None:
    """A tick for every figure that occurs, a doubling as wide as any other."""
    found = {_nats(row.candidate, notion) for row in report.rows}
    ticks = sorted({float(f"{nats:.3g}") for nats in found if nats is not None})
    if not ticks:
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda nats, _: f"{nats:.3g}")
