"""An example of policies, which the documentation of the strategies shares."""

from datetime import datetime

from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies


def _once(name: str, hours: tuple[int, int], *thresholds: int) -> Policy:
    start, end = (datetime(1970, 1, 1, hour) for hour in hours)
    return Policy(name, Once(Zone("UTC", ((0, 0),)), start, end), len(thresholds), thresholds)


HOUSEHOLD = Policies(
    3_600_000,
    Query("sum", 2757),
    (
        Collection(
            "home",
            (
                _once("tea", (1, 3), 100),
                _once("shower", (2, 6), 220, 220),
                _once("vacuum", (7, 10), 50),
            ),
        ),
    ),
)
"""Three things that somebody would not have known, of which the first two overlap in hour 2."""
