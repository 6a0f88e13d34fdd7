"""A fixed run of temporal perturbation; run as a module, it prints the digest.

It prints the digest of all releases, annotations and states, and the instruction sets that numpy
uses beyond its baseline.
"""

from hashlib import blake2b

import numpy as np

from operators.mechanism import Array, Inputs
from operators.randomness import DrawScope, Secret, record_positions
from operators.registry import KINDS
from operators.temporal.threshold import ThresholdPerturbation
from tests.operators.fixed_run import dispatched_features

ROWS, STEPS = 67, 14


def digest() -> str:
    """Of every byte that the run lets out or keeps."""
    hasher = blake2b(digest_size=32)
    payloads = np.array([b"1", None, b"", b"22"], dtype=object)
    kinds = [kind for kind in sorted(KINDS) if kind.endswith("_perturbation")]
    mechanisms = [example.mechanism for kind in kinds for example in KINDS[kind].examples()]
    for mechanism in [*mechanisms, ThresholdPerturbation(k=150, c0=40)]:
        scope = DrawScope(Secret(bytes(32)), "fixed", "run", 1, mechanism.law_digest())
        state = mechanism.start(ROWS)
        for step in range(STEPS):
            values = payloads[(np.arange(ROWS) * (step + 3)) % len(payloads)]
            draws = scope.draws([b"key"] * ROWS, record_positions("t", step, range(ROWS)))
            state, releases = mechanism.step(state, Inputs(values), draws)
            columns = {"": releases.values, **releases.annotations, **state}
            for column in columns.values():
                hasher.update(bytes_of(column))
    return hasher.hexdigest()


def bytes_of(column: Array) -> bytes:
    """Numbers in little-endian order; of payloads, first all lengths, -1 for None."""
    if column.dtype != object:
        return column.astype(column.dtype.newbyteorder("<")).tobytes()
    payloads = column.ravel().tolist()
    lengths = [-1 if payload is None else len(payload) for payload in payloads]
    return np.array(lengths, dtype="<i4").tobytes() + b"".join(filter(None, payloads))


if __name__ == "__main__":
    print(digest(), *dispatched_features())
