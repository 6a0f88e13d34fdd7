"""What strategies err, by window or by epsilon, under policies as boxes; and the pipeline's own and
the best other one over time."""

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.offline.evaluation.aggregates import boxes
from fugu.dataflows.offline.evaluation.aggregates.drawing import (
    COLOURS,
    LINES_HEIGHT,
    Course,
    Line,
    Panel,
    draw_lines,
    written,
)
from fugu.dataflows.offline.evaluation.aggregates.policy_grid import UNDER_POLICIES
from fugu.dataflows.offline.evaluation.aggregates.report import AggregateReport, AggregateRow

_BAND = 2.0


def save(report: AggregateReport, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
    colours = dict(zip(kinds, cycle(COLOURS), strict=False))
    courses = [_course(row, colours[row.candidate.kind]) for row in _in_time(report)]
    if isinstance(report.summed.operator, PolicyOperator):
        above = partial(boxes.draw, report=report)
        return written(path, report, boxes.height(report), above, courses)
    by_window = len({row.candidate.window for row in report.rows}) > 1
    panels = [_panel(rows, colours, by_window) for rows in _split(report, by_window)]
    written(path, report, LINES_HEIGHT, partial(draw_lines, report=report, panels=panels), courses)


def _split(report: AggregateReport, by_window: bool) -> list[list[AggregateRow]]:
    """All rows in one; but one for each epsilon, if windows are on the axis."""
    if not by_window:
        return [list(report.rows)]
    epsilons = sorted({row.candidate.epsilon for row in report.rows})
    return [[row for row in report.rows if row.candidate.epsilon == one] for one in epsilons]


def _panel(rows: Sequence[AggregateRow], colours: dict[str, str], by_window: bool) -> Panel:
    first = rows[0].candidate
    lines = [
        _line(kind, colour, [row for row in rows if row.candidate.kind == kind], by_window)
        for kind, colour in colours.items()
    ]
    if by_window:
        return Panel(lines, "window, in ticks", f"epsilon {first.epsilon:g}")
    return Panel(lines, f"epsilon, in any {first.window:,} ticks in a row")


def _line(kind: str, colour: str, rows: Sequence[AggregateRow], by_window: bool) -> Line:
    def place(row: AggregateRow) -> float:
        return row.candidate.window if by_window else row.candidate.epsilon

    points = [(place(row), row.utility.errors.absolute) for row in sorted(rows, key=place)]
    own = next((row for row in rows if row.configured), None)
    ring = None if own is None else (place(own), own.utility.errors.absolute.value)
    return Line(kind, colour, points, ring)


def _in_time(report: AggregateReport) -> list[AggregateRow]:
    """The pipeline's own strategy and the best other one."""
    own = report.own
    promise = own.candidate.epsilon, own.candidate.window
    others = [
        row
        for row in report.rows
        if (row.candidate.epsilon, row.candidate.window) == promise
        and row.candidate.kind != own.candidate.kind
    ]
    return [own, *sorted(others, key=lambda row: row.utility.errors.absolute.value)[:1]]


def _course(row: AggregateRow, colour: str) -> Course:
    candidate = row.candidate
    windowed = candidate.kind not in UNDER_POLICIES
    window = f" in {candidate.window} ticks" if windowed else " in any interval"
    title = f"{candidate.kind}, epsilon {candidate.epsilon:g}{window}"
    band = "standard errors of its noise"
    return Course(candidate.kind, colour, title, row.utility.series, _BAND, band)
