"""A merge under policies goes on with a state of version 1: policies, ledgers and releases stay."""

from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_block import column_bytes, described, written
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.swellfish.tinar_strategies import TINARUniform
from fugu.operators.swellfish.unicorn import Unicorn
from fugu.operators.swellfish.unicorn_is import UnicornIS
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from tests.operators.swellfish.zones import once

TEA = once("tea", 6, 8, 1, 30)
FORMER = orjson.dumps(
    {
        "collections": {"home": {"removed": {"vacuum": 4}, "added": [[TEA.to_data(), 4, 2**62]]}},
        "zones": [TEA.when.zone.to_data()],
    }
).replace(orjson.dumps(TEA.when.zone.to_data()), b"0", 1)
"""As version 1 wrote that the vacuum was removed, and tea was added."""


@pytest.mark.parametrize("kind", [Unicorn, UnicornPS, UnicornIS, TINARUniform])
def test_a_state_of_version_1_goes_on(kind: type[PolicyStrategy[Any]]) -> None:
    strategy = kind(HOUSEHOLD, 1, 1.0)
    scope = DrawScope(Secret(bytes(32)), "home", kind.kind, 1, strategy.law_digest())
    merge = Merging(strategy, scope, "topic-id", 1, 1)
    now = merge.start()
    for tick in range(5):
        list(merge(now, sums(tick)))
    former = {name: cells for name, cells in now.mechanism.items() if name != "policies"}
    former["changes"] = np.array([FORMER], dtype=object)
    header = {"columns": described(former), "sums": "", **now.progress.plain()}
    before = written(header, column_bytes(former))

    state = merge.restored(before, lambda _: OpenTicks())
    for name, cells in former.items():
        assert (state.mechanism[name] == cells).all()
    [[_, fresh]] = merge(state, sums(5))
    assert fresh.annotations["sensitivity"] == [220 if strategy.adapts else 2757]
    asked = [asked_at(merge, state, tick) for tick in range(6, 9)]
    assert asked == ([30, 30, 30] if strategy.adapts else [2757] * 3)
    again = merge.restored(state.encoded(), lambda _: OpenTicks())
    assert again.mechanism["policies"] == state.mechanism["policies"]
    assert again.mechanism["policies"] != strategy.start(1)["policies"]


def sums(tick: int) -> PartialSums:
    return PartialSums(0, tick, np.zeros(1, np.int64), np.array([500]))


def asked_at(merge: Merging, state: MergeState, tick: int) -> int:
    [[_, releases]] = merge(state, sums(tick))
    return int(releases.annotations["sensitivity"][0])


def test_changes_of_version_1_are_read_as_they_are() -> None:
    standing = HOUSEHOLD.standings(FORMER)["home"]
    assert [one.policy.id for one in standing.admitted] == ["tea", "shower", "vacuum", "tea"]
    assert standing.admitted[2].until == 4
    assert standing.admitted[3].policy == TEA
    assert (standing.owned, standing.sequence, standing.made) == (False, 0, False)
    gone = Change("home", 0, "tea", None).to_bytes()
    after = HOUSEHOLD.standings(HOUSEHOLD.changed(FORMER, gone, now=5))["home"]
    assert [one.until for one in after.admitted if one.policy == TEA] == []
