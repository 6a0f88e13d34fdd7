"""`python -m examples.bike_share.hours`: what somebody loses who rents in so many hours, in nats.

The pipeline charges everybody as if they rented in every measured hour, because it cannot tell who
does. Charges add up over the hours in which somebody did rent, so that most lose much less. This is
arithmetic: no data are read.
"""

import yaml
from rich.console import Console
from rich.table import Table

from examples.bike_share.example import PIPELINE
from fugu.operators.realtime.account import exact_budget
from fugu.operators.realtime.real_time_release import RealTimeRelease

HOURS = {7: "every other day", 28: "twice a day", 84: "six times a day", 312: "every hour"}
_HALVINGS = 12
"""Halvings of an interval of epsilon, which find it to a thousandth."""


def epsilon_of(hours: int) -> float:
    """With the delta of the pipeline; `hours` at most those that are measured."""
    operator = yaml.safe_load(PIPELINE.read_text())["operator"]
    release = RealTimeRelease(
        bins=len(operator["groups"]),
        sensitivity=1,
        changed_bins=2,
        epsilon=operator["epsilon"],
        delta=operator["delta"],
        horizon=operator["horizon"],
    )
    spent = hours * int(release.schedule.charges(release.schedule.table[:1])[0])
    low, high = 0.0, release.epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if exact_budget(middle, release.delta) < spent:
            low = middle
        else:
            high = middle
    return high


def main() -> None:
    """Print the table."""
    table = Table(title="What riders lose in 13 measured days")
    table.add_column("hours in which they rent", justify="right")
    table.add_column("")
    table.add_column("epsilon", justify="right")
    for hours, name in HOURS.items():
        table.add_row(str(hours), name, f"{epsilon_of(hours):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
