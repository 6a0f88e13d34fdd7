"""Print what an audit found."""

from collections.abc import Iterable, Sequence
from math import isfinite

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.offline.auditing.attacks import Finding
from fugu.dataflows.offline.auditing.audited import Audited, WorstCase
from fugu.dataflows.offline.auditing.report import Report

_LONGEST_TEXT = 400


def print_report(console: Console, report: Report) -> None:
    """Print exact numbers, exact worst cases, attacks, and the verdict in the last line."""
    console.print(f"\n[bold]{report.pipeline}[/bold]: {report.mechanism}, law {report.law}")
    console.print("\n[bold]Exact numbers[/bold]")
    for name, number in report.numbers.items():
        console.print(f"- {name}: {_readable(number)}")
    if not report.audited.sound:
        console.print("- it promises nothing itself; tested is the epsilon its paper claims")
    _print_exact(console, report.audited)
    effort = report.effort
    console.print(
        f"\n[bold]Attacks on the real operator[/bold]: {effort.runs:,} runs of each stream, seed "
        f"{effort.seed}. All bounds hold together with confidence {effort.confidence:g} %; so many "
        f"runs cannot prove more than {report.out_of_reach:.2f} nats of any operator. "
        f"{_compared(report.findings)}"
    )
    console.print(_attack_table(report.findings))
    colour = "red" if report.broken else "green"
    console.print(f"\n[{colour}]{report.verdict}[/{colour}]", soft_wrap=True)


def _compared(findings: Sequence[Finding]) -> str:
    model = "sip compares a stream with streams drawn from the model, all others two"
    said = model if any(one.attack.notion == "sip" for one in findings) else "All compare two"
    return f"{said} neighbouring inputs."


def _print_exact(console: Console, audited: Audited) -> None:
    if audited.worst:
        console.print(
            "\n[bold]Exact worst cases[/bold], over all neighbouring inputs and all outputs: nats, "
            "of those claimed"
        )
        console.print(_worst_table(audited.worst))
    for check in audited.checks:
        found = f" ({check.found})" if check.found else ""
        console.print(f"- {check.about}: {_yes(check.passed)}{found}")
    for part in audited.not_reached:
        console.print(f"- not reached: {part}")


def _worst_table(worst: Sequence[WorstCase]) -> Table:
    columns = list(dict.fromkeys((case.notion, case.about) for case in worst))
    table = Table("", *(f"{notion}: {about}" for notion, about in columns), box=SIMPLE_HEAD)
    for extent in dict.fromkeys(case.extent for case in worst):
        row = {(case.notion, case.about): case for case in worst if case.extent == extent}
        table.add_row(extent, *(_cell(row[one]) if one in row else "" for one in columns))
    return table


def _attack_table(findings: Sequence[Finding]) -> Table:
    table = Table("attack", box=SIMPLE_HEAD)
    for column in ("claim", "exact", "proved", "event, elsewhere"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for finding in findings:
        table.add_row(
            f"{finding.attack.notion}: {finding.attack.name}",
            f"{finding.attack.claim:.4g}",
            _nats(finding.exact),
            f"{finding.bound:.3f}",
            f"{finding.shown:.3g}, {finding.elsewhere:.3g}",
            "[red]BROKEN[/red]" if finding.broken else "ok",
        )
    return table


def _cell(case: WorstCase) -> str:
    text = f"{_nats(case.leaked)} of {case.claim:.4g}"
    return f"[red]{text}[/red]" if case.broken else text


def _nats(number: float | None) -> str:
    if number is None:
        return "unknown"
    return f"{number:.3f}" if isfinite(number) else "infinite"


def _yes(true: bool) -> str:
    return "yes" if true else "[red]NO[/red]"


def _readable(number: object) -> str:
    if isinstance(number, float):
        return f"{number:.4g}"
    if isinstance(number, Iterable) and not isinstance(number, str):
        text = "[" + ", ".join(map(_readable, number)) + "]"
        return text if len(text) <= _LONGEST_TEXT else "too many to show; --json has them"
    return "none" if number is None else str(number)
