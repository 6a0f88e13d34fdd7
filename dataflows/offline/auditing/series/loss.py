"""State what Gaussian noise loses, exactly."""

from math import log, sqrt

from fugu.operators.noise.gaussian_account import VARIANCE, delta_of_squares

_HALVINGS = 60


def nats_at(squares: int, delta: float) -> float:
    """Return the epsilon at which draws that differ by so many squared grid steps have delta.

    >>> round(nats_at(112621999, delta=1e-6), 6)
    3.0

    Source: continual release specification, section 4 (Theorem 3).
    """
    if squares == 0 or delta_of_squares(squares, 0.0) <= delta:
        return 0.0
    total: float = squares / VARIANCE
    low, high = 0.0, total / 2.0 + sqrt(-2.0 * total * log(delta))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_of_squares(squares, middle) > delta else (low, middle)
    return high
