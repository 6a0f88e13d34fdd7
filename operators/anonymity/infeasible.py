"""Windows of which nothing can be released."""

from fractions import Fraction
from typing import Literal

import numpy as np

from fugu.operators.anonymity.knowledge import occurrences
from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Table
from fugu.operators.mechanism import Integers

Reason = Literal["people", "base-rate", "size"]
Where = Literal["input", "output"]

LARGEST_WINDOW = 200_000_000
"""Bound the occurrences of sub-trajectories in a window: each takes about 120 bytes of memory."""

_TEXTS: dict[Reason, str] = {
    "people": "{place} has fewer people than K",
    "base-rate": "one category has a larger share of {place} than the confidence allows",
    "size": (
        "{place} has more sub-trajectories of rho points than fit into memory "
        "({most:,}); allow fewer points of a person, fewer people, or a smaller rho"
    ),
}


class Infeasible(Exception):
    """Say that a window has no release that keeps the bounds, and nothing of it is released.

    `reason`: fewer `people` than the crowd that is asked for; the `base-rate`, a category whose
    share of all records exceeds the confidence, so that somebody who knows no point knows too much;
    or its `size`. `where`: in the input, or among the rows that keep points.

    >>> print(Infeasible("people", "input"))
    the input has fewer people than K
    """

    def __init__(self, reason: Reason, where: Where) -> None:
        place = {"input": "the input", "output": "what is left of the window"}[where]
        super().__init__(_TEXTS[reason].format(place=place, most=LARGEST_WINDOW))
        self.reason = reason
        self.where = where


def check_size(table: Table, limits: Limits) -> None:
    """Raise `Infeasible` if the sub-trajectories of a window are too many to be counted."""
    if occurrences(table, limits.known_points) > LARGEST_WINDOW:
        raise Infeasible("size", "input")


def check_base_rate(table: Table, categories: Integers, limits: Limits, where: Where) -> None:
    """Raise `Infeasible` if knowledge of no point breaks a bound; an empty table breaks none.

    Source: anonymisation specification, section 4 (the empty knowledge).
    """
    if not len(table):
        return
    if table.people < limits.people:
        raise Infeasible("people", where)
    if Fraction(int(np.bincount(categories).max()), len(table)) > limits.confidence:
        raise Infeasible("base-rate", where)
