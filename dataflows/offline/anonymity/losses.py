"""Measure what is lost in anonymised windows, for several K and rho: points, people, counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fugu.dataflows.stages.windows import Place, WindowTable
from fugu.operators.anonymity.anonymization import Anonymized
from fugu.operators.anonymity.knowledge import Infeasible
from fugu.operators.anonymity.windows import AnonymizedWindows
from fugu.operators.mechanism import Integers

REASONS = ("suppression", "support", "confidence", "correlated")
"""Why points are removed: stage 1, or one of the tests of stage 2."""


@dataclass
class Losses:
    """Sum up, over windows, what is there and what is left of it.

    `places` and `values` count points by location, and records by category: true, and released.
    `levels` are those by which the values of all records are generalised.
    """

    windows: int = 0
    suppressed: int = 0
    records: int = 0
    kept_records: int = 0
    points: int = 0
    kept_points: int = 0
    levels: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    places: tuple[Counter[Place], Counter[Place]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    values: tuple[Counter[int], Counter[int]] = field(
        default_factory=lambda: (Counter(), Counter())
    )

    def take(self, window: WindowTable, mechanism: AnonymizedWindows) -> None:
        """Anonymise a window and take it in."""
        table, anonymization = window.table, mechanism.anonymization
        categories = anonymization.categories[table.values]
        levels = anonymization.taxonomy.levels
        self.windows += 1
        self.records += len(table)
        self.points += len(table.points)
        self.levels += int((levels[table.values] - levels[categories]).sum())
        _count(self.places[0], window, table.points)
        self.values[0].update(categories.tolist())
        try:
            if table.people < mechanism.min_people:
                raise Infeasible("people", "input")
            self._released(window, anonymization.anonymize(table, None))
        except Infeasible:
            self.suppressed += 1

    def _released(self, window: WindowTable, done: Anonymized) -> None:
        self.kept_records += len(done.rows)
        self.kept_points += int(done.kept.sum())
        self.removed.update(done.points_removed)
        _count(self.places[1], window, window.table.points[done.kept])
        self.values[1].update(done.values.tolist())

    def document(self) -> dict[str, object]:
        """Return the figures for a machine."""
        return {
            "windows": self.windows,
            "suppressed_windows": self.suppressed,
            "records": self.records,
            "kept_records": self.kept_records,
            "points": self.points,
            "kept_points": self.kept_points,
            "points_removed": {name: self.removed[name] for name in REASONS},
            "levels_generalised_per_record": _share(self.levels, self.records),
            "places_told_wrong": distance(*map(by_location, self.places)),
            "categories_told_wrong": distance(*self.values),
        }


@dataclass(frozen=True, eq=False)
class LossReport:
    """Hold the losses of each pair of K and rho; `own` is that of the pipeline."""

    pipeline: str
    path: str
    own: tuple[int, int]
    losses: dict[tuple[int, int], Losses]

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "pipeline": self.pipeline,
            "sample": self.path,
            "candidates": [
                {"K": people, "rho": known, "configured": (people, known) == self.own}
                | losses.document()
                for (people, known), losses in self.losses.items()
            ],
        }


def losses_of(
    windows: Sequence[WindowTable],
    candidates: Iterable[AnonymizedWindows],
    advance: Callable[[int], None] = lambda windows: None,
) -> dict[tuple[int, int], Losses]:
    """Anonymise all windows with each candidate; `advance` is told of windows done."""
    found = {}
    for mechanism in candidates:
        losses = Losses()
        for window in windows:
            losses.take(window, mechanism)
            advance(1)
        anonymization = mechanism.anonymization
        found[anonymization.people, anonymization.known_points] = losses
    return found


def by_location(places: Counter[Place]) -> Counter[str | int]:
    """Return how many points are at each location, whatever the time."""
    counts = Counter[str | int]()
    for (_, location), count in places.items():
        counts[location] += count
    return counts


def distance(true: Counter[Any], released: Counter[Any]) -> float | None:
    """Return the share that one has to move for shares to be those of the other: total variation;
    None where nothing is released."""
    both = true.total(), released.total()
    if not all(both):
        return None
    shares = (abs(true[name] / both[0] - released[name] / both[1]) for name in true)
    return sum(shares) / 2


def _count(counts: Counter[Place], window: WindowTable, points: Integers) -> None:
    numbers = np.bincount(points, minlength=len(window.places))
    for place, number in zip(window.places, numbers.tolist(), strict=True):
        if number:
            counts[place] += number


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
