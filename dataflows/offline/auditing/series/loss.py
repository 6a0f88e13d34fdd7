"""State what Gaussian noise loses, exactly."""

from math import log, sqrt

from fugu.operators.realtime.accountants import gaussian_delta

_OF_DEVIATION = 2**28 - 9
"""The squared deviation, in grid steps, of continuous noise that loses as much."""
_HALVINGS = 100


def nats_at(squares: int, delta: float) -> float:
    """Return the epsilon at which noise on values so far apart, in squared grid steps, has delta.

    Source: continual release specification, section 4 (Theorem 3).
    """
    total, low = squares / _OF_DEVIATION, 0.0
    high = total / 2.0 + sqrt(-2.0 * total * log(delta))
    if squares == 0 or gaussian_delta(total, 0.0) <= delta:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if gaussian_delta(total, middle) > delta else (low, middle)
    return high
