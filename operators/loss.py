"""Hold privacy losses of promises as functions: how large delta is at any epsilon."""

from dataclasses import dataclass, replace
from math import inf, nextafter


@dataclass(frozen=True)
class PureLoss:
    """Lose at most `epsilon` nats, whatever is released."""

    epsilon: float

    def over(self, changes: int) -> "PureLoss":
        """Return the loss between inputs that are so many changes apart."""
        return PureLoss(nextafter(changes * self.epsilon, inf))


@dataclass(frozen=True)
class GaussianLoss:
    """Lose what discrete Gaussian noise with a deviation of 2^14 grid steps loses.

    `squares` is the most that neighbours differ by: the sum of the squares of all differences of
    their indices, in squared grid steps. It is that of a Gaussian mechanism whose ratio of
    sensitivity to deviation has the square squares / (2^28 - 9). At most `draws` indices differ;
    each adds the delta of a draw in finite precision (`noise.gaussian_precision`).

    Source: continual release specification, section 4 (Theorems 3 and 4).
    """

    squares: int
    draws: int

    def over(self, changes: int) -> "GaussianLoss":
        """Return the loss between inputs that are so many changes apart."""
        return replace(self, squares=changes**2 * self.squares, draws=changes * self.draws)


@dataclass(frozen=True)
class WideGaussianLoss(GaussianLoss):
    """Lose what wide draws lose, whose steps are finer (`noise.wide_gaussian`).

    `squares` are those of draws of the usual deviation that lose as much. `draws` counts the parts
    of wide draws that may differ; each may move by any number of its own steps.

    Source: continual release specification, section 3 (wide draws).
    """


@dataclass(frozen=True)
class LaplaceLoss:
    """Lose what discrete Laplace noise on one number loses, moved by `shift` steps.

    A probability falls by a factor e^-rate with every step.

    Source: noise specification, section 3.
    """

    rate: float
    shift: int

    @property
    def epsilon(self) -> float:
        """Return the largest loss."""
        return self.rate * self.shift

    def over(self, changes: int) -> "LaplaceLoss":
        """Return the loss between inputs that are so many changes apart."""
        return LaplaceLoss(self.rate, changes * self.shift)


@dataclass(frozen=True)
class ResponseLoss:
    """Lose what a generalized randomized response among so many symbols loses.

    Source: SIP specification, section 9.
    """

    epsilon: float
    symbols: int

    def over(self, changes: int) -> PureLoss:
        """Return the loss between inputs that are so many changes apart, or more."""
        return PureLoss(self.epsilon).over(changes)


@dataclass(frozen=True)
class RepeatedLoss:
    """Lose at most `each` nats in every one of `number` releases, whatever was released before."""

    each: float
    number: int

    @property
    def epsilon(self) -> float:
        """Return the largest loss."""
        return self.each * self.number


@dataclass(frozen=True)
class StatedLoss:
    """Lose (epsilon, delta) and no more is known."""

    epsilon: float
    delta: float


BoundedLoss = PureLoss | LaplaceLoss | ResponseLoss
Loss = BoundedLoss | GaussianLoss | WideGaussianLoss | RepeatedLoss | StatedLoss
