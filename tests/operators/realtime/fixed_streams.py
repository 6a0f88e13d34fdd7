"""A fixed run of real-time releases; run as a module, it prints the digest.

It prints the digest of all releases, annotations and states, and the instruction sets that numpy
uses beyond its baseline.
"""

from hashlib import blake2b

import numpy as np

from dataflows.state.row_block import column_bytes
from operators.mechanism import Inputs
from operators.randomness import DrawScope, Secret, record_positions
from operators.registry import KINDS
from tests.operators.fixed_run import dispatched_features

ROWS, STEPS = 9, 16


def digest() -> str:
    """Of every byte that the run lets out or keeps."""
    hasher = blake2b(digest_size=32)
    for example in KINDS["real_time"].examples():
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


if __name__ == "__main__":
    print(digest(), *dispatched_features())
