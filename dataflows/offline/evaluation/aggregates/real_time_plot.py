"""What filters and their rivals err, by epsilon; and the pipeline's own filter and the best rival
that does without the true data over time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

from fugu.dataflows.offline.evaluation.aggregates.drawing import (
    COLOURS,
    LINES_HEIGHT,
    Course,
    Line,
    Panel,
    draw_lines,
    written,
)
from fugu.dataflows.offline.evaluation.aggregates.real_time_report import RealTimeReport
from fugu.dataflows.offline.evaluation.aggregates.real_time_utility import BARS, RealTimeUtility

_STYLES = "-", "--", ":"
"""Of filters, of strategies, and of simulations."""


@dataclass(frozen=True)
class _Shown:
    label: str
    epsilon: float
    utility: RealTimeUtility
    configured: bool
    group: int
    honest: bool


def save(report: RealTimeReport, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    rows = list(_rows(report))
    colours = dict(zip(dict.fromkeys(row.label for row in rows), cycle(COLOURS), strict=False))
    lines = [
        _line([row for row in rows if row.label == label], colour)
        for label, colour in colours.items()
    ]
    panels = [Panel(lines, "epsilon, for everything a user contributes")]
    courses = [_course(row, colours[row.label]) for row in _in_time(rows)]
    written(path, report, LINES_HEIGHT, partial(draw_lines, report=report, panels=panels), courses)


def _rows(report: RealTimeReport) -> Iterator[_Shown]:
    for row in report.rows:
        candidate, utility = row.candidate, row.utility
        assert isinstance(utility, RealTimeUtility)
        group = 0 if candidate.kind == report.operator.kind else 1
        yield _Shown(candidate.name, candidate.epsilon, utility, row.configured, group, True)
    for one in report.simulated:
        honest = not (one.rival.uses_true_data or one.rival.offline)
        yield _Shown(one.rival.label, one.epsilon, one.utility, False, 2, honest)


def _line(rows: list[_Shown], colour: str) -> Line:
    points = [(row.epsilon, row.utility.errors.absolute) for row in rows]
    own = next((row for row in rows if row.configured), None)
    ring = None if own is None else (own.epsilon, own.utility.errors.absolute.value)
    return Line(rows[0].label, colour, points, ring, _STYLES[rows[0].group])


def _in_time(rows: list[_Shown]) -> list[_Shown]:
    """Filters are all the pipeline's own: rivals are strategies and simulations."""
    own = next((row for row in rows if row.configured), rows[0])
    others = [row for row in rows if row.group and row.honest and row.epsilon == own.epsilon]
    return [own, *sorted(others, key=lambda row: row.utility.errors.absolute.value)[:1]]


def _course(row: _Shown, colour: str) -> Course:
    title = f"{row.label}, epsilon {row.epsilon:g}"
    return Course(row.label, colour, title, row.utility.series, BARS, "standard errors")
