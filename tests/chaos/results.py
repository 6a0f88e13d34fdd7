"""Add a row to `tests/acceptance/results/chaos.csv`, which is committed, for each `make chaos`."""

import csv
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.outcome import Tally

RESULTS = Path(__file__).parents[1] / "acceptance" / "results" / "chaos.csv"
EQUAL = "equal"


@dataclass(frozen=True)
class Row:
    """Hold what one run played, and what came of it."""

    day: str
    commit: str
    store: str
    load: str
    seed: int
    rounds: int
    faults: str
    """Each fault that happened, and how often."""
    records: int
    released: int
    """Releases and dead letters that are committed."""
    lost: int
    doubled: int
    drawn_twice: int
    came_again: int
    """Releases that were aborted and published again, with the same bytes."""
    restarts: int
    """The number of copies that ended by themselves and were started again."""
    outcome: str
    """`equal`, or what was wrong first."""


def row(
    store: str, load: str, seed: int, faults: Iterable[str], tally: Tally, outcome: str, **seen: int
) -> Row:
    """Return the row of a run that ends now; `faults` has the name of each that happened."""
    names = list(faults)
    told = ", ".join(f"{name} {count}" for name, count in sorted(Counter(names).items()))
    first_line = outcome.partition("\n")[0]
    return Row(
        day=datetime.now(UTC).date().isoformat(),
        commit=_commit(),
        store=store,
        load=load,
        seed=seed,
        faults=told,
        outcome=first_line,
        **asdict(tally),
        **seen,
    )


def add(row: Row, results: Path = RESULTS) -> None:
    """Add a row at the end of the file."""
    begins = not results.exists()
    with results.open("a", newline="") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Row)], lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerow(asdict(row))


def _commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=RESULTS.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
