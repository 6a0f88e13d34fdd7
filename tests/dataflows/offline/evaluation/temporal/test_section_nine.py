"""Section 9 of the TLDP specification in short: errors do not depend on how many ticks there are,
or go with their number, or with its square."""

from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from tests.dataflows.offline.evaluation.temporal.section_nine import (
    EPSILONS,
    PENDING,
    PRINTED,
    PRINTED_STEPS,
    WINDOW,
    measured,
    of_laplace,
    of_pending,
)

STEPS, STREAMS = 800, 96
STEPS_OF_RIVALS, STREAMS_OF_RIVALS = 400, 16
ORDERS = {
    "count, threshold": 2,
    "count, threshold, filled": 1,
    "count, backward": 1,
    "count, forward": 2,
    "count, forward, filled": 1,
    "count, grr, filled": 1,
}


def printed(name: str, epsilon: float, steps: int = PRINTED_STEPS) -> float:
    share = steps / PRINTED_STEPS
    return PRINTED[name][EPSILONS.index(epsilon)] * share ** ORDERS.get(name, 0)


def tolerance(waiting: int) -> float:
    """Four standard errors, relative: values that wait now have all left a window later."""
    squares = [sum(ups) ** 2 for ups in product((0, 1), repeat=waiting)]
    observations = STEPS * STREAMS / WINDOW
    return 4.0 * float(np.std(squares) / np.mean(squares)) / sqrt(observations)


@pytest.mark.parametrize("epsilon", [5.0, 8.0])
def test_a_count_lacks_the_values_that_wait(epsilon: float, tmp_path: Path) -> None:
    rows = measured(tmp_path, STEPS, STREAMS, seed=1).rows(epsilon, ["threshold"])
    waiting = PENDING[epsilon]
    assert tolerance(waiting) <= 0.05
    known = pytest.approx(of_pending(waiting), rel=tolerance(waiting))
    assert rows["count, threshold"] == rows["count, threshold, filled"] == known
    for name in ("average, threshold", "average, threshold, moved"):
        assert rows[name] == pytest.approx(printed(name, epsilon), rel=0.1)


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_rivals_err_as_much_as_known(epsilon: float, tmp_path: Path) -> None:
    kinds = ["backward", "forward", "laplace", "grr"] + ["threshold"] * (epsilon == 1.0)
    table = measured(tmp_path, STEPS_OF_RIVALS, STREAMS_OF_RIVALS, seed=2)
    rows = table.rows(epsilon, kinds)
    law = of_laplace(table.series, epsilon)
    errors = 4.0 * sqrt(2.0 * WINDOW / (STEPS_OF_RIVALS * STREAMS_OF_RIVALS))
    assert rows["average, laplace"] == pytest.approx(law, rel=errors)
    for name in PRINTED:
        if name in rows and (name.split(", ")[1] != "threshold" or epsilon == 1.0):
            known = printed(name, epsilon, STEPS_OF_RIVALS)
            assert known / 3 < rows[name] < known * 3, name
