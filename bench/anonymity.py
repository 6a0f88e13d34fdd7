"""Measure what an anonymised window of trajectories costs: stages and attacks, by its size.

People have a home, where they mostly are, and visit other places; some places are visited far more
than others. Nothing is read from Kafka.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.attacks import attacked
from fugu.operators.anonymity.knowledge import Table, occurrences
from fugu.operators.anonymity.suppression import Taxonomy, repaired, suppressed, virtual_values

_TAXONOMY = Taxonomy.from_tree(
    {
        "disease": {
            "virus": ["dengue", "influenza"],
            "bacterium": ["cholera", "typhoid"],
            "lung": ["asthma", "bronchitis"],
            "metabolism": ["diabetes", "gout"],
        }
    }
)
_QUANTA, _AT_HOME, _SEED = 24, 0.6, 25


@dataclass(frozen=True)
class Case:
    """Hold the size of a window, and what an attacker may know."""

    rows: int
    places: int
    points: int = 20
    people: int = 5
    known_points: int = 2
    records_each: int = 1
    linked: bool = False
    is_compiled: bool = True

    @property
    def title(self) -> str:
        """Return how the table names it."""
        several = f", {self.records_each} rows each, linked" if self.linked else ""
        without = "" if self.is_compiled else ", without numba"
        return f"{self.rows:,} x {self.points}, {self.places} places{several}{without}"


@dataclass(frozen=True)
class Cost:
    """Hold CPU seconds by part, how much of the window is left, and the peak of memory so far."""

    case: Case
    pieces: int
    virtualise: float
    suppress: float
    repair: float
    attack: float
    steps: int
    suppressed_share: float
    kept_share: float
    hits: int
    megabytes: int

    @property
    def seconds(self) -> float:
        """Return what a release costs: the stages, and the attacks on what is released."""
        return self.virtualise + self.suppress + self.repair + self.attack


CASES = (
    Case(1_000, 50),
    Case(10_000, 50),
    Case(10_000, 50, is_compiled=False),
    Case(10_000, 50, people=2),
    Case(10_000, 50, people=10),
    Case(10_000, 25),
    Case(10_000, 8),
    Case(10_000, 8, points=10),
    Case(10_000, 8, records_each=2, linked=True),
    Case(10_000, 8, known_points=3),
    Case(100_000, 50),
    Case(100_000, 8),
)

_CHILD = """
import json, sys
from dataclasses import asdict
sys.modules["numba"] = None
from bench.anonymity import CASES, measured
print(json.dumps(asdict(measured(CASES[int(sys.argv[1])]))))
"""


def measure_anonymity(say: Callable[[str], None]) -> list[Cost]:
    """Measure one window after another, the smallest first."""
    costs = []
    measured(replace(CASES[0], rows=100))
    for number, case in enumerate(CASES):
        say(case.title)
        costs.append(measured(case) if case.is_compiled else _in_child(number, case))
    return costs


def measured(case: Case) -> Cost:
    """Anonymise one window, part by part."""
    table = window(case)
    settings = Anonymization(_TAXONOMY, 2, case.people, case.known_points, linked=case.linked)
    limits, categories = settings.limits, settings.categories[table.values]
    times = [time.process_time()]
    virtual = virtual_values(table, _TAXONOMY, settings.privacy_height)
    times.append(time.process_time())
    first = suppressed(table, virtual, people=case.people, known_points=case.known_points)
    times.append(time.process_time())
    done = repaired(table, first, categories, limits)
    times.append(time.process_time())
    left = table.with_points(done.kept)
    rows = np.flatnonzero(left.lengths)
    attacks = attacked(left.with_rows(rows), categories[rows], limits)
    times.append(time.process_time())
    virtualise, suppress, repair, attack = (after - before for before, after in pairwise(times))
    return Cost(
        case=case,
        pieces=occurrences(table, case.known_points),
        virtualise=virtualise,
        suppress=suppress,
        repair=repair,
        attack=attack,
        steps=len(done.removals),
        suppressed_share=1.0 - float(first.mean()),
        kept_share=float(done.kept.mean()),
        hits=attacks.hits,
        megabytes=getrusage(RUSAGE_SELF).ru_maxrss // 1024,
    )


def window(case: Case) -> Table:
    """Return the table of a window; the same for the same case."""
    rng = np.random.default_rng(_SEED)
    popular = 1.0 / np.arange(1, case.places + 1)
    popular /= popular.sum()
    shape = case.rows, case.points
    quanta = np.sort(np.argsort(rng.random((case.rows, _QUANTA)), axis=1)[:, : case.points], axis=1)
    homes = rng.choice(case.places, size=case.rows, p=popular)
    visits = rng.choice(case.places, size=shape, p=popular)
    places = np.where(rng.random(shape) < _AT_HOME, homes[:, None], visits)
    leaves = np.flatnonzero(_TAXONOMY.levels == _TAXONOMY.height)
    return Table(
        users=np.arange(case.rows) // case.records_each,
        offsets=np.arange(case.rows + 1) * case.points,
        points=(quanta * case.places + places).ravel(),
        values=rng.choice(leaves, size=case.rows),
    )


def anonymity_page(costs: list[Cost], command: str, load_before: float) -> Page:
    """Return what is written and shown."""
    return Page(
        "anonymity",
        "Anonymised windows",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "windows": [{**asdict(one), "seconds": one.seconds} for one in costs],
        },
        [_times(costs), _left(costs)],
        [
            "A window has so many rows of so many points; sigma = 1/2, "
            f"{_QUANTA} quanta of time. One process, one core, no Kafka. An occurrence is a "
            "sub-trajectory of at most rho points in a row. Memory is the peak of the process up "
            "to this row of the table. Attacks are those on what is released; on the input they "
            "cost more, as more is left there to try.",
        ],
    )


def _times(costs: list[Cost]) -> Grid:
    rows = [
        [
            one.case.title,
            *figures(0, one.case.people, one.case.known_points, one.pieces),
            *figures(2, one.suppress, one.repair, one.attack, one.seconds),
            *figures(2, one.seconds / one.pieces * 1e6),
            *figures(0, one.megabytes),
        ]
        for one in costs
    ]
    header = [
        "window",
        "K",
        "rho",
        "occurrences",
        "stage 1",
        "stage 2",
        "attacks",
        "all",
        "µs each",
    ]
    return Grid("CPU seconds of a window", [*header, "MB"], rows)


def _left(costs: list[Cost]) -> Grid:
    rows = [
        [
            one.case.title,
            *figures(0, one.case.people, one.case.known_points),
            f"{one.suppressed_share:.1%}",
            *figures(0, one.steps),
            f"{one.kept_share:.1%}",
            *figures(0, one.hits),
        ]
        for one in costs
    ]
    header = ["window", "K", "rho", "removed by stage 1", "steps of stage 2", "points left", "hits"]
    return Grid("What is left of it", header, rows)


def _in_child(number: int, case: Case) -> Cost:
    """Measure in a process that has no numba."""
    command = [sys.executable, "-c", _CHILD, str(number)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return Cost(**{**json.loads(done.stdout), "case": case})
