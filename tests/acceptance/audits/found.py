"""Run `fugu audit` on the example of a kind, and keep what it found as rows of a table."""

import csv
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import orjson
from typer.testing import CliRunner

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.kinds.example_files import example_of

RESULTS = Path(__file__).parents[1] / "results" / "audits.csv"
RUNS = 20_000


@dataclass(frozen=True)
class Row:
    """Hold one line of an audit.

    `exact` is what leaks exactly: over all neighbours in a worst case, between the two inputs in an
    attack. `proved` is the lower bound of an attack. `broken`: the claim does not hold.
    """

    kind: str
    part: Literal["worst case", "attack", "check", "not reached", "no verdict"]
    notion: str
    about: str
    claimed: float | None = None
    delta: float | None = None
    exact: float | None = None
    proved: float | None = None
    broken: bool = False


def audited(kind: str, runs: int = RUNS) -> list[Row]:
    """Return what `fugu audit` says about the example of a kind."""
    with TemporaryDirectory() as directory:
        example_of(kind, Path(directory))
        command = ["audit", f"{directory}/pipeline.yaml", "--runs", str(runs), "--json"]
        try:
            done = CliRunner().invoke(app, command, catch_exceptions=False)
        except CannotBeAudited as error:
            return [Row(kind, "no verdict", "", str(error))]
    rows = list(_rows(kind, orjson.loads(done.stdout)))
    assert done.exit_code == int(any(row.broken for row in rows)), done.output
    return rows


def _rows(kind: str, report: dict[str, Any]) -> Iterable[Row]:
    for case in report["worst_cases"]:
        about = f"{case['about']}, {case['extent']}"
        yield Row(
            kind,
            "worst case",
            case["notion"],
            about,
            claimed=case["claim"],
            exact=case["leaked"],
            broken=case["broken"],
        )
    for attack in report["attacks"]:
        yield Row(
            kind,
            "attack",
            attack["notion"],
            attack["name"],
            claimed=attack["claim"],
            delta=attack["delta"],
            exact=attack["exact"],
            proved=attack["bound"],
            broken=attack["broken"],
        )
    for check in report["checks"]:
        yield Row(kind, "check", "", check["about"], broken=not check["passed"])
    for part in report["not_reached"]:
        yield Row(kind, "not reached", "", part)


def stored() -> list[Row]:
    """Read the committed results."""
    with RESULTS.open(newline="") as file:
        return [_read(line) for line in csv.DictReader(file)]


def store(rows: Iterable[Row]) -> None:
    """Write the results, with six digits of each number."""
    with RESULTS.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(field.name for field in fields(Row))
        out.writerows([_written(entry) for entry in astuple(row)] for row in rows)


def _written(entry: object) -> object:
    if isinstance(entry, bool):
        return "yes" if entry else ""
    return f"{entry:.6g}" if isinstance(entry, float) else entry


def _read(line: dict[str, Any]) -> Row:
    numbers = ("claimed", "delta", "exact", "proved")
    known = {name: float(line[name]) if line[name] else None for name in numbers}
    return Row(**{**line, **known, "broken": line["broken"] == "yes"})
