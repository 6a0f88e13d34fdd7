"""Privacy losses of promises as functions: how large delta is at any epsilon."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PureLoss:
    """Lose at most `epsilon` nats, whatever is released."""

    epsilon: float


@dataclass(frozen=True)
class GaussianLoss:
    """Lose what discrete Gaussian noise with a deviation of 2^14 grid steps loses.

    `squares` is the most that neighbours differ by: the sum of the squares of all differences of
    their indices, in squared grid steps. It is that of a Gaussian mechanism whose ratio of
    sensitivity to deviation has the square squares / (2^28 - 9).

    Source: continual release specification, section 4 (Theorem 3).
    """

    squares: int


@dataclass(frozen=True)
class StatedLoss:
    """Lose (epsilon, delta) and no more is known."""

    epsilon: float
    delta: float


Loss = PureLoss | GaussianLoss | StatedLoss
