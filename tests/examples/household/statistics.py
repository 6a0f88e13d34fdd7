"""Hold what section 7 of the Swellfish specification prints about its households."""

from collections.abc import Mapping, Sequence

import numpy as np

from examples.household.household import LARGEST_LOAD, Household
from examples.household.zones import TICKS
from fugu.operators.swellfish.policy import affected_ticks

SEED = 12
SENSITIVITY, AFFECTED = "mean Delta_t / Delta_Q", "mean largest delta / w"
EXACT, OCCURRENCES = "share of exact ticks", "occurrences"
PRINTED: Mapping[str, float] = {
    SENSITIVITY: 0.037,
    AFFECTED: 0.107,
    EXACT: 0.50,
    OCCURRENCES: 132,
}
"""Medians over households."""


def medians(homes: Sequence[Household]) -> dict[str, float]:
    """The same of these."""
    found = [statistics(home) for home in homes]
    return {name: float(np.median([one[name] for one in found])) for name in PRINTED}


def statistics(home: Household) -> dict[str, float]:
    """Over all ticks, from occurrences alone, all of which may change each tick as much."""
    change, affected = np.zeros(TICKS, dtype=np.int64), np.zeros(TICKS, dtype=np.int64)
    for one in home.occurrences:
        ticks = slice(one.start, one.end + 1)
        change[ticks] += one.thresholds[0]
        interval = affected_ticks(one.start, one.end, home.occurrences)
        affected[ticks] = np.maximum(affected[ticks], interval)
    return {
        SENSITIVITY: float(np.minimum(change, LARGEST_LOAD).mean() / LARGEST_LOAD),
        AFFECTED: float(affected.mean() / home.window),
        EXACT: float((change == 0).mean()),
        OCCURRENCES: len(home.occurrences),
    }
