"""Print leakage over time: leakages are rounded up and budgets down, past a billionth."""

from math import isfinite

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.offline.leakage.report import Allowance, Course, Report
from fugu.operators.leakage.inversion import rounded_up

_MOST_ROWS = 20
_BUDGET_DIGITS, _UNSEEN = 1e6, 1e-9


def print_report(console: Console, report: Report, name: str) -> None:
    """Print the matrix, a table for each epsilon with its meaning, and what alpha allows."""
    console.print(f"\n[bold]{name}[/bold]: {report.values} values")
    console.print(f"- backwards in time: {report.backward_is}")
    console.print(f"- {_bounded(report.bounded_below)}", highlight=False)
    for course in report.courses:
        console.print(f"\n[bold]{course.epsilon:g} nats per tick[/bold], {report.ticks} ticks")
        console.print(_table(course, report))
        console.print(course.meaning, highlight=False)
        console.print(
            f"About all values of a stream of {report.ticks} ticks together: at most "
            f"{rounded_up(course.whole_stream)} nats, which is all that is spent.",
            highlight=False,
        )
    if report.allowance is not None:
        _print_allowance(console, report.allowance, report)


def _bounded(below: float) -> str:
    if not isfinite(below):
        return "leakage has a limit, whatever a tick spends"
    if below == 0.0:
        return (
            "leakage has no limit, whatever a tick spends: two values never lead to the same one, "
            "or never come from the same one"
        )
    return f"leakage has a limit if every tick spends less than {_rounded_down(below)} nats"


def _table(course: Course, report: Report) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    about_windows = [f"{report.window} ticks from it"] if report.window > 1 else []
    for heading in ("tick", "backward", "forward", "total", *about_windows):
        table.add_column(heading, justify="right")
    over_time, limits = course.over_time, course.limits
    for tick in _shown(report.ticks):
        figures = [over_time.backward[tick], over_time.forward[tick], over_time.total[tick]]
        cells = [rounded_up(nats) for nats in figures]
        if about_windows:
            cells.append(rounded_up(course.windows[tick]) if tick < len(course.windows) else "")
        table.add_row(str(tick + 1), *cells)
    table.add_section()
    at_most = [limits.backward, limits.forward, limits.total, limits.window]
    table.add_row("limit", *map(rounded_up, at_most[: len(table.columns) - 1]))
    return table


def _shown(ticks: int) -> list[int]:
    """Choose all ticks, or some from the first to the last."""
    if ticks <= _MOST_ROWS:
        return list(range(ticks))
    return [round(row * (ticks - 1) / (_MOST_ROWS - 1)) for row in range(_MOST_ROWS)]


def _print_allowance(console: Console, allowed: Allowance, report: Report) -> None:
    about = f"any {report.window} consecutive ticks" if report.window > 1 else "any one tick"
    console.print(f"\n[bold]Leakage of at most {allowed.alpha:g} nats[/bold]")
    if allowed.every_tick is None:
        console.print(f"- {allowed.refused}.", highlight=False)
    else:
        console.print(
            f"- about {about}, however long the stream: spend at most "
            f"{_rounded_down(allowed.every_tick)} nats on every tick.",
            highlight=False,
        )
    said = f"- about any one tick, of a stream of {report.ticks} ticks: spend at most "
    console.print(said + _in_order(allowed), highlight=False)


def _in_order(allowed: Allowance) -> str:
    first, last = _rounded_down(allowed.first), _rounded_down(allowed.last)
    between = first if allowed.between is None else _rounded_down(allowed.between)
    if first == between == last:
        return f"{first} nats on every tick."
    middle = "" if allowed.between is None else f", {between} on each in between"
    return f"{first} nats on the first{middle}, and {last} on the last."


def _rounded_down(nats: float) -> str:
    return f"{int((nats + _UNSEEN) * _BUDGET_DIGITS) / _BUDGET_DIGITS:.6f}"
