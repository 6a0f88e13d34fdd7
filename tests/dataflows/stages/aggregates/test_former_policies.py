"""A merge under policies goes on from the state of a version that named no policies in figures."""

import json
from datetime import datetime

import numpy as np
import pytest

from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_block import column_bytes, described, written
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.swellfish.calendar import Once
from fugu.operators.swellfish.chain import first_digest
from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.swellfish.zone import Zone

EVENING = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 6), datetime(1970, 1, 1, 9))


@pytest.mark.parametrize("changed", [False, True])
def test_figures_name_what_was_configured_unless_something_had_changed(changed: bool) -> None:
    strategy = UnicornPS(HOUSEHOLD, 1, 1.0)
    scope = DrawScope(Secret(bytes(32)), "town", strategy.kind, 1, strategy.law_digest())
    merge = Merging(strategy, scope, "topic-id", partitions=1, groups=1)
    state = merge.start().mechanism
    if changed:
        sauna = Change("home", 3, None, Policy("sauna", EVENING, 1, (600,)))
        state = strategy.after_change(state, sauna.to_bytes())
        assert json.loads(state["changes"][0])
    del state["policies"]
    header: dict[str, object] = {
        "columns": described(state),
        "open": [],
        "last": [],
        "beyond": [],
        "following": None,
    }
    former = merge.restored(written(header, column_bytes(state)), lambda _: OpenTicks())
    one = np.array([0]), np.array([500])
    [(_, releases)] = merge(former, PartialSums(0, 6, *one))
    assert releases.annotations["sensitivity"].item() == (600 if changed else 0)
    named = releases.annotations["policies"].item()
    assert (named == first_digest(HOUSEHOLD.digest()).hex()) is not changed
