"""An evaluation, for people."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.offline.evaluation.report import Report, Row

_SAYS_NOTHING = {
    "repeated": "0.0%",
    "still good": "0.0%",
    "suppressed": "0.0%",
    "held back": "0",
    "expected, %": "—",
    "of these, %": "—",
    "learned": "—",
    "window": "—",
}
"""Columns, and rows of such columns, are left out where every cell is this."""
_HEADINGS = {"delay-law": "law"}
"""Of figures with long names."""


def print_report(console: Console, report: Report) -> None:
    """The sample, a table for each question, and what to know before comparing rows."""
    sample, seed = report.sample, report.seed
    console.print(
        f"\n[bold]{report.pipeline.name}[/bold]: {sample.records:,} records of "
        f"{sample.stream_count:,} streams in {sample.path}, runs: {report.runs}, seed {seed}"
    )
    for refused in report.refused:
        console.print(f"- [yellow]refused[/yellow], {refused}")
    for title in report.rows[0].utility.tables():
        table = _table(report, title)
        if table is not None:
            console.print(f"\n[bold]{title}[/bold]")
            console.print(table)
    console.print()
    for note in report.notes:
        console.print(f"- {note}")


def _table(report: Report, title: str) -> Table | None:
    """Columns that say something, of candidates that have something to say in them."""
    cells = [row.utility.tables()[title] for row in report.rows]
    shown = [
        column
        for column in cells[0]
        if any(some[column] != _SAYS_NOTHING.get(column) for some in cells)
    ]
    if all(some[column] == "—" for some in cells for column in shown):
        return None
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.add_column("operator", no_wrap=True)
    for heading in ("eps", *report.notions, *shown):
        table.add_column(_HEADINGS.get(heading, heading), justify="right", overflow="fold")
    before = None
    for row, some in zip(report.rows, cells, strict=True):
        candidate = row.candidate
        if all(some[column] in ("—", _SAYS_NOTHING.get(column)) for column in shown):
            continue
        if before not in (None, candidate.kind):
            table.add_section()
        before = candidate.kind
        table.add_row(
            _name(row),
            f"{candidate.epsilon:g}",
            *(_nats(candidate.per_record(notion)) for notion in report.notions),
            *(some[column] for column in shown),
        )
    for name, some, epsilon in report.beside(title):
        if before != name:
            table.add_section()
        before = name
        nats = "" if epsilon is None else f"{epsilon:g}"
        table.add_row(f"[italic]{name}[/italic]", nats, *(some[column] for column in shown))
    return table


def _name(row: Row) -> str:
    name = f"{row.candidate.name}{' *' if row.configured else ''}"
    if not row.candidate.sound:
        return f"[red]{name} ![/red]"
    return f"[bold]{name}[/bold]" if row.configured else name


def _nats(nats: float | None) -> str:
    return "none" if nats is None else f"{nats:.4g}"
