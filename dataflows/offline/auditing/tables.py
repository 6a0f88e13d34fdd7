"""Print what an audit found."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fugu.dataflows.offline.auditing.attacks import Finding
from fugu.dataflows.offline.auditing.audited import Check, WorstCase
from fugu.dataflows.offline.auditing.report import Report

_LONGEST_TEXT = 400
_AGAINST_MODEL = "; under sip the other one is drawn from the model"


def print_report(console: Console, report: Report) -> None:
    """Print exact numbers, worst cases, checks, attacks, what is left out, and the verdict last."""
    audited, effort = report.audited, report.effort
    console.print(f"\n[bold]{report.pipeline}[/bold]: {report.mechanism}, law {report.law}")
    _print_list(
        console, "Exact numbers", [f"{name}: {_readable(n)}" for name, n in report.numbers.items()]
    )
    if not audited.sound:
        console.print("- it promises nothing itself; tested is the epsilon its paper claims")
    if audited.worst:
        console.print(
            "\n[bold]Exact worst cases[/bold], over all neighbouring inputs and all outputs: nats, "
            "of those claimed"
        )
        console.print(_worst_table(audited.worst))
    _print_list(console, "Checks", [_said(check) for check in audited.checks])
    against_model = any(one.attack.notion == "sip" for one in report.findings)
    console.print(
        f"\n[bold]Attacks on the real operator[/bold]: {effort.runs:,} runs of each input, seed "
        f"{effort.seed}. An attack looks for an event that one of two neighbouring inputs shows "
        f"more often than the other one{_AGAINST_MODEL if against_model else ''}. The nats that it "
        "proves are a lower bound; beside them is in which share of runs either input showed the "
        f"event. All bounds hold together with confidence {effort.confidence:g} %; so many runs "
        f"cannot prove more than {report.out_of_reach:.2f} nats of any operator."
    )
    console.print(_attack_table(report.findings))
    _print_list(console, "Not looked at", report.not_reached)
    colour = "red" if report.broken else "green"
    console.print(f"\n[{colour}]{escape(report.verdict)}[/{colour}]", soft_wrap=True)


def _print_list(console: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        console.print(f"- {escape(line)}")


def _said(check: Check) -> str:
    found = f" ({check.found})" if check.found else ""
    return f"{'holds' if check.passed else 'FAILS'}: {check.about}{found}"


def _worst_table(worst: Sequence[WorstCase]) -> Table:
    columns = list(dict.fromkeys((case.notion, case.about) for case in worst))
    table = Table("", *(f"{notion}: {about}" for notion, about in columns), box=SIMPLE_HEAD)
    for extent in dict.fromkeys(case.extent for case in worst):
        row = {(case.notion, case.about): case for case in worst if case.extent == extent}
        table.add_row(extent, *(_cell(row[one]) if one in row else "" for one in columns))
    return table


def _attack_table(findings: Sequence[Finding]) -> Table:
    table = Table("attack", box=SIMPLE_HEAD)
    for column in ("claim", "exact", "proved", "seen, other"):
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


def _readable(number: object) -> str:
    if isinstance(number, float):
        return f"{number:.4g}"
    if isinstance(number, Mapping):
        return ", ".join(f"{name} {_readable(part)}" for name, part in number.items())
    if isinstance(number, Iterable) and not isinstance(number, str):
        text = "[" + ", ".join(map(_readable, number)) + "]"
        return text if len(text) <= _LONGEST_TEXT else "too many to show; --json has them"
    return "none" if number is None else str(number)
