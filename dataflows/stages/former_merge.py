"""Read a merge as the version of Fugu before wrote it: sums of open ticks stood in its snapshot."""

from typing import Any

import numpy as np

from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.progress import Progress
from fugu.dataflows.state.row_block import Body
from fugu.operators.mechanism import Mechanism, State
from fugu.operators.realtime.older_states import continued
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.upgrades.policy_states import with_digests


def is_former(header: dict[str, Any]) -> bool:
    """Return whether the version before wrote a snapshot with this header."""
    return "sums" not in header


def former_state(mechanism: Mechanism, state: State) -> State:
    """Return the state of the mechanism with the columns that were added since."""
    match mechanism:
        case RealTimeRelease():
            return continued(state)
        case PolicyStrategy():
            return with_digests(mechanism, state)
    return state


def former_progress(header: dict[str, Any]) -> Progress:
    """Return how far the partitions had come; no tick was ever skipped."""
    beyond = [[partition, tick, tick] for partition, tick in header["beyond"]]
    return Progress.of({**header, "beyond": beyond, "skipped": []})


def former_sums(header: dict[str, Any], body: Body, groups: int) -> OpenTicks:
    """Return the sums of ticks that were not complete."""
    sums = OpenTicks()
    for tick in header["open"]:
        total = body.take(groups, "<i8").astype(np.int64)
        some = np.flatnonzero(total)
        sums.add(PartialSums(0, tick, some, total[some]))
    return sums
