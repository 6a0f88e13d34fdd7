"""`python -m examples.city.windows`: mean errors by window and strategy, without Kafka.

The operators run on true counts under secrets of their own, several times.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

from examples.city.example import STRATEGIES
from examples.city.people import People
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.wevent.spread_strategies import BudgetDistribution, Sample
from fugu.operators.wevent.strategy import Strategy

WINDOWS = {4: "an hour", 24: "six hours", 96: "a day"}
_KINDS: dict[str, type[Strategy]] = {kind.kind: kind for kind in (Sample, BudgetDistribution)}
_PEOPLE, _RUNS = 3_000, 20


def mean_error(strategy: str, window: int, counts: Integers, runs: int = _RUNS) -> float:
    """Return the mean error of all figures of `counts (ticks, zones)`, over so many runs."""
    mechanism = _KINDS[strategy](counts.shape[1], window, epsilon=1.0, sensitivity=2)
    errors = []
    for run in range(runs):
        secret, state = Secret(run.to_bytes(32, "big")), mechanism.start(1)
        scope = DrawScope(secret, "city", strategy, 1, mechanism.law_digest())
        for tick, truth in enumerate(counts):
            draws = scope.draws([b"city"], [tick_position("city", tick)])
            state, releases = mechanism.step(state, Inputs(truth[None]), draws)
            errors.append(np.abs(releases.values[0] - truth).mean())
    return float(np.mean(errors))


def main() -> None:
    """Print the table."""
    counts = People(_PEOPLE).counts()
    table = Table(title=f"Mean errors; the mean true count is {counts.mean():.0f}")
    table.add_column("epsilon 1 in")
    for strategy in STRATEGIES:
        table.add_column(strategy, justify="right")
    for window, name in WINDOWS.items():
        cells = (f"{mean_error(strategy, window, counts):.0f}" for strategy in STRATEGIES)
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
