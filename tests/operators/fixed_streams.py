"""Fixed runs of every mechanism as digests."""

from hashlib import blake2b

import numpy as np

from fugu.dataflows.state.row_block import column_bytes
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.conformance.kinds import KINDS

ROWS, STEPS = 67, 10


def digest(kind: str) -> str:
    """Return the digest of every byte that runs of all examples of a kind let out or keep."""
    hasher = blake2b(digest_size=16)
    for example in KINDS[kind].examples():
        mechanism, accepted = example.mechanism, example.accepted
        scope = DrawScope(Secret(bytes(32)), "fixed", "run", 1, mechanism.law_digest())
        state = mechanism.start(ROWS)
        for step in range(STEPS):
            values = accepted[np.arange(ROWS) * (step + 3) % len(accepted)]
            draws = scope.draws([b"key"] * ROWS, record_positions("t", step, range(ROWS)))
            state, releases = mechanism.step(state, Inputs(values), draws)
            columns = {"": releases.values, **releases.annotations, **state}
            hasher.update(b"".join(column_bytes(columns)))
    return hasher.hexdigest()
