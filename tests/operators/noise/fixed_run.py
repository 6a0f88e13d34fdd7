"""A fixed run of noisy releases as one digest of all points and doubles."""

from hashlib import blake2b

import numpy as np

from fugu.operators.mechanism import Inputs
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.conformance.kinds import KINDS

ROWS, COORDINATES = 67, 3


def digest() -> str:
    """Return a digest of every byte that the run releases."""
    hasher = blake2b(digest_size=32)
    scope = DrawScope(Secret(bytes(32)), "fixed", "noise", 1, bytes(32))
    values = (np.arange(ROWS * COORDINATES).reshape(ROWS, COORDINATES) * 7919) % 1001
    far = 2**40
    for noise in (
        LaplaceNoise(1000, 0.7, 0, 1000),
        LaplaceNoise(2**40 + 15, 1.3, -far, far, COORDINATES),
        GaussianNoise(1000, 350.0, 0, 1000),
        GaussianNoise(2**40 + 15, 2.0**39, -far, far, COORDINATES),
    ):
        draws = scope.draws([b"key"] * ROWS, record_positions("t", 0, range(ROWS)))
        points = noise.add(values, draws)
        hasher.update(points.astype("<i8").tobytes())
        hasher.update(noise.grid.value(points, 10).astype("<f8").tobytes())
    for example in KINDS["laplace"].examples():
        mechanism = example.mechanism
        if not isinstance(mechanism, LaplaceRelease):
            continue
        draws = scope.draws([b"key"] * ROWS, record_positions("t", 1, range(ROWS)))
        inputs = Inputs(np.resize(example.accepted, ROWS))
        _, releases = mechanism.step(mechanism.start(ROWS), inputs, draws)
        hasher.update(releases.values.astype("<f8").tobytes())
    return hasher.hexdigest()
