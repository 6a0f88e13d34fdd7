"""The state of the merge, whatever mechanism is behind it."""

import numpy as np
import pytest

from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging, OpenTicks
from fugu.operators.randomness import DrawScope, Secret
from tests.conformance.example import Example
from tests.conformance.kinds import KINDS

TICKS = 7


AGGREGATES = [kind for kind in KINDS if KINDS[kind].examples()[0].accepted.ndim == 2]


@pytest.mark.parametrize("kind", AGGREGATES)
def test_a_state_that_was_written_and_read_goes_on_the_same(kind: str) -> None:
    for example in KINDS[kind].examples():
        assert released(example, restarting=True) == released(example, restarting=False)


def released(example: Example, *, restarting: bool) -> list[bytes]:
    """Return what ticks let out; with restarts, the state is bytes between them."""
    mechanism, groups = example.mechanism, example.accepted.shape[1]
    scope = DrawScope(Secret(bytes(32)), "merge", kind_of(example), 1, mechanism.law_digest())
    merge = Merging(mechanism, scope, "topic-id", partitions=1, groups=groups)
    state, found = merge.start(), []
    for tick in range(TICKS):
        figures = example.accepted[tick % len(example.accepted)]
        for _, releases in merge(state, PartialSums(0, tick, np.arange(groups), figures)):
            found.append(releases.values.tobytes())
            found += [note.tobytes() for note in releases.annotations.values()]
        if restarting:
            state = merge.restored(state.encoded(), lambda _: OpenTicks())
    return found


def kind_of(example: Example) -> str:
    return example.mechanism.kind
