"""State what Gaussian noise loses, exactly."""

from fractions import Fraction

from fugu.operators.budget_units import in_nats
from fugu.operators.composition.composed_loss import ComposedLoss
from fugu.operators.guarantee import GaussianLoss


def nats_at(squares: int, delta: float) -> float:
    """Return the epsilon at which noise on values so far apart, in squared grid steps, has delta.

    >>> round(nats_at(112621999, delta=1e-6), 6)
    3.0

    It is that of the law; draws in finite precision are beside it. Infinite: no epsilon suffices.
    """
    units = ComposedLoss.of(GaussianLoss(squares, draws=0)).epsilon(Fraction(delta))
    return float("inf") if units is None else in_nats(units)
