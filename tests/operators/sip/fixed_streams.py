"""A fixed run of adaptive release and of cold start; run as a module, it prints the digest.

It prints the digest of all releases, annotations and states, and the instruction sets that numpy
uses beyond its baseline.
"""

from hashlib import blake2b

import numpy as np

from operators.mechanism import Inputs
from operators.randomness import DrawScope, Secret, record_positions
from operators.registry import KINDS
from tests.operators.fixed_run import dispatched_features

ROWS, STEPS = 67, 10


def digest() -> str:
    """Of every byte that the run lets out or keeps."""
    hasher = blake2b(digest_size=32)
    for kind in ("adaptive_crr", "cold_start_crr"):
        for example in KINDS[kind].examples():
            mechanism, accepted = example.mechanism, example.accepted
            scope = DrawScope(Secret(bytes(32)), "fixed", "run", 1, mechanism.law_digest())
            state = mechanism.start(ROWS)
            for step in range(STEPS):
                values = accepted[(np.arange(ROWS) * (step + 3)) % len(accepted)]
                draws = scope.draws([b"key"] * ROWS, record_positions("t", step, range(ROWS)))
                state, releases = mechanism.step(state, Inputs(values), draws)
                columns = [releases.values, *releases.annotations.values(), *state.values()]
                for column in columns:
                    hasher.update(column.tobytes())
    return hasher.hexdigest()


if __name__ == "__main__":
    print(digest(), *dispatched_features())
