"""Every release names the policies that it was made with."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import pytest

from fugu.operators.mechanism import Inputs
from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import (
    TINARSample,
    TINARUniform,
    Unicorn,
    UnicornIS,
    UnicornPS,
)
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.strategy import first_digest, next_digest
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from tests.operators.swellfish.running import Strategy, simulated

STRATEGIES: list[Strategy] = [
    *(made(HOUSEHOLD, 1, 1.0) for made in (Unicorn, UnicornIS, UnicornPS)),
    *(made(HOUSEHOLD, 1, 1.0) for made in (TINARUniform, TINARSample)),
    *(made(HOUSEHOLD, 1, 1.0, 4) for made in (TSUniform, TSSample)),
    *(made(HOUSEHOLD, 1, 1.0, 4) for made in (TSBudgetDistribution, TSBudgetAbsorption)),
]
EVENING = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 6), datetime(1970, 1, 1, 9))
SAUNA = Change("home", 3, None, Policy("sauna", EVENING, 1, (600,))).to_bytes()
REFUSED = Change("nowhere", 3, None, Policy("sauna", EVENING, 1, (600,))).to_bytes()


def named(strategy: Strategy, told: Mapping[int, Sequence[bytes]]) -> list[str]:
    """Return what is said of eight ticks, before which some changes are told."""
    state, found = strategy.start(1), []
    for tick in range(8):
        state = strategy.elapse(state, np.array([tick]))
        for change in told.get(tick, ()):
            state = strategy.after_change(state, change)
        state, releases = strategy.step(state, Inputs(np.array([[500]])), simulated(1))
        found.append(str(releases.annotations["policies"][0]))
    return found


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: one.kind)
def test_a_figure_names_all_changes_so_far_and_the_ticks_that_first_knew_of_them(
    strategy: Strategy,
) -> None:
    configured = first_digest(HOUSEHOLD.digest())
    added = next_digest(configured, SAUNA, 2)
    refused = next_digest(added, REFUSED, 5)
    expected = [configured] * 2 + [added] * 3 + [refused] * 3
    told = {2: [SAUNA], 5: [REFUSED]}
    assert named(strategy, told) == [digest.hex() for digest in expected]


def test_order_time_and_every_single_change_show() -> None:
    strategy = UnicornPS(HOUSEHOLD, 1, 1.0)
    histories: list[Mapping[int, Sequence[bytes]]] = [
        {}, {2: [SAUNA]}, {3: [SAUNA]}, {2: [SAUNA, REFUSED]}, {2: [REFUSED, SAUNA]},
        {2: [SAUNA, SAUNA]}, {2: [REFUSED]}, {2: [SAUNA], 3: [REFUSED]},
    ]  # fmt: skip
    last = [named(strategy, told)[-1] for told in histories]
    assert len(set(last)) == len(histories)


def test_a_change_that_is_refused_changes_the_digest_and_nothing_else() -> None:
    strategy = UnicornPS(HOUSEHOLD, 1, 1.0)
    before = strategy.start(2)
    after = strategy.after_change(before, REFUSED)
    assert {name for name in before if (before[name] != after[name]).any()} == {"policies"}
    with pytest.raises(ValueError, match="nowhere"):
        strategy.explained(before, REFUSED)
