"""Windows of which nothing can be released, however many points are removed."""

from fractions import Fraction
from typing import Literal

import numpy as np

from fugu.operators.anonymity.limits import Limits
from fugu.operators.anonymity.records import Table
from fugu.operators.mechanism import Integers


class Infeasible(Exception):
    """Say that an adversary who knows no point at all knows too much; nothing is released.

    `reason`: fewer `people` than the crowd that is asked for, or the `base-rate`, a category whose
    share of all records exceeds the confidence. `where`: in the input, or among the rows that keep
    points.

    >>> print(Infeasible("people", "input"))
    the input has fewer people than K
    """

    def __init__(
        self, reason: Literal["people", "base-rate"], where: Literal["input", "output"]
    ) -> None:
        place = {"input": "the input", "output": "what is left of the window"}[where]
        super().__init__(
            f"{place} has fewer people than K"
            if reason == "people"
            else f"one category has a larger share of {place} than the confidence allows"
        )
        self.reason = reason
        self.where = where


def check_base_rate(
    table: Table, categories: Integers, limits: Limits, where: Literal["input", "output"]
) -> None:
    """Raise `Infeasible` if knowledge of no point breaks a bound; an empty table breaks none.

    Source: anonymisation specification, section 4 (the empty knowledge).
    """
    if not len(table):
        return
    if table.people < limits.people:
        raise Infeasible("people", where)
    if Fraction(int(np.bincount(categories).max()), len(table)) > limits.confidence:
        raise Infeasible("base-rate", where)
