"""Print a report: the sample, the tables, and what to know before comparing rows."""

from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.offline.evaluation.estimates import NOTHING
from fugu.dataflows.offline.evaluation.report import Report, Row

_SAYS_NOTHING = {
    "repeated": "0.0%",
    "still good": "0.0%",
    "suppressed": "0.0%",
    "held back": "0",
    "expected, %": NOTHING,
    "of these, %": NOTHING,
    "learned": NOTHING,
    "window": NOTHING,
}
"""Columns, and rows of such columns, are left out where every cell is this."""
_HEADINGS = {"delay-law": "law", "w-event-ldp": "per window record"}
"""Short headings of figures with long names."""


def print_report(console: Console, report: Report[Any]) -> None:
    """Print everything that people read."""
    sample = report.sample
    console.print(
        f"\n[bold]{report.pipeline}[/bold]: {sample.records:,} records of "
        f"{sample.stream_count:,} streams in {sample.path}, runs: {report.runs}, seed {report.seed}"
    )
    for refused in report.refused:
        console.print(f"- [yellow]refused[/yellow], {refused}")
    for title in report.rows[0].utility.tables():
        table = _table(report, title)
        if table is not None:
            console.print(f"\n[bold]{title}[/bold]")
            console.print(table)
    for more in report.appendix:
        console.print(f"\n[bold]{more.title}[/bold]")
        console.print(more.table)
    console.print()
    for line in report.ranking:
        console.print(line, markup=False)
    console.print()
    for note in report.notes:
        console.print(f"- {note}")


def _table(report: Report[Any], title: str) -> Table | None:
    """Return the columns that say something, of rows that have something to say in them."""
    cells = [row.utility.tables()[title] for row in report.rows]
    shown = [
        column
        for column in cells[0]
        if any(some[column] != _SAYS_NOTHING.get(column) for some in cells)
    ]
    if all(some[column] == NOTHING for some in cells for column in shown):
        return None
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.add_column("operator", no_wrap=True)
    for heading in ("eps", *report.notions, *shown):
        table.add_column(_HEADINGS.get(heading, heading), justify="right", overflow="fold")
    lines = []
    for row, some in zip(report.rows, cells, strict=True):
        if any(some[column] not in (NOTHING, _SAYS_NOTHING.get(column)) for column in shown):
            nats = [_nats(row.candidate.per_record(notion)) for notion in report.notions]
            own = f"{row.candidate.epsilon:g}", *nats, *(some[column] for column in shown)
            lines.append((row.candidate.kind, _name(row), own))
    for one in report.beside:
        epsilon = "" if one.epsilon is None else f"{one.epsilon:g}"
        others = epsilon, *(one.tables[title][column] for column in shown)
        lines.append((one.name, f"[italic]{one.name}[/italic]", others))
    for _, group in groupby(lines, key=itemgetter(0)):
        for _, name, texts in group:
            table.add_row(name, *texts)
        table.add_section()
    return table


def _name(row: Row[Any]) -> str:
    name = f"{row.candidate.name}{' *' if row.configured else ''}"
    if not row.candidate.sound:
        return f"[red]{name} ![/red]"
    return f"[bold]{name}[/bold]" if row.configured else name


def _nats(nats: float | None) -> str:
    return "none" if nats is None else f"{nats:.4g}"
