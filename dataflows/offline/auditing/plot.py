"""Draw an audit: what every attack proved, beside what is claimed and what is exact."""

from math import isnan, nan
from pathlib import Path
from textwrap import fill

from matplotlib.figure import Figure

from fugu.dataflows.offline.auditing.report import Report

_CLAIMED, _PROVED, _BROKEN, _EXACT = "#d5dbe3", "#1f4e79", "#c0392b", "#444444"
_WIDTH, _TITLE_WIDTH = 40, 80
"""Bound lines of text, in characters."""


def save(report: Report, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    findings, effort = list(report.findings), report.effort
    rows = range(len(findings))
    bounds = [finding.bound for finding in findings]
    exact = [nan if finding.exact is None else finding.exact for finding in findings]
    colours = [_BROKEN if finding.broken else _PROVED for finding in findings]
    figure = Figure(figsize=(9.0, 2.0 + 0.42 * len(findings)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.barh(
        rows, [f.attack.claim for f in findings], height=0.62, color=_CLAIMED, label="claimed"
    )
    axes.hlines(rows, 0.0, bounds, color=colours, linewidth=2.0)
    axes.scatter(bounds, rows, color=colours, s=42, zorder=3, label="proved, at least")
    if not all(map(isnan, exact)):
        axes.scatter(
            exact, rows, marker="|", color=_EXACT, s=200, zorder=2, label="exact, of these inputs"
        )
    axes.axvline(report.out_of_reach, color=_EXACT, lw=0.8, ls=":", label="no more can be proved")
    names = [fill(f"{one.attack.notion}: {one.attack.name}", _WIDTH) for one in findings]
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    effort_text = f"{effort.runs:,} runs of each input, confidence {effort.confidence:g} %"
    axes.set_xlabel(f"nats told apart\n{effort_text}")
    axes.spines[["top", "right"]].set_visible(False)
    verdict, colour = ("CLAIM BROKEN", _BROKEN) if report.broken else ("no claim broken", _PROVED)
    title = fill(f"{report.pipeline}, {report.mechanism}: {verdict}", _TITLE_WIDTH)
    figure.suptitle(title, x=0.01, ha="left", color=colour)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path)
