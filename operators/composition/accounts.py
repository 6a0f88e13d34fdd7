"""Turn what promises spend together into epsilon and delta, by the account that says least.

Every account is a bound, so that the smallest epsilon is one too. The account is named with it.

>>> from fugu.operators.realtime.real_time_release import RealTimeRelease
>>> from fugu.operators.budget_units import in_nats
>>> from fugu.operators.composition.sums import add
>>> release = RealTimeRelease(1, 1, 1, epsilon=1.0, delta=1e-6, horizon=100)
>>> both = add([Spend.of(release.guarantees()[0])] * 2)
>>> figure = composed(both)
>>> in_nats(both.epsilon), in_nats(figure.epsilon) < 1.5, figure.account
(2.0, True, 'noise')
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fugu.operators.composition.loss_distributions import epsilon_by_distributions, gains
from fugu.operators.composition.spend import Spend

Account = Literal["sum", "noise", "pure", "distributions"]
IN_WORDS: dict[Account, str] = {
    "sum": "by adding epsilons",
    "noise": "by the exact account of Gaussian noise with pure losses",
    "pure": "by the optimal composition of pure losses",
    "distributions": "by privacy loss distributions",
}


@dataclass(frozen=True)
class Figure:
    """State epsilon, in units of 2^-40 nat, and delta, and which account they come from."""

    epsilon: int
    delta: Fraction
    account: Account


def composed(spend: Spend) -> Figure:
    """Return the smallest epsilon at the delta that is stated; a single promise is as stated."""
    stated = Figure(spend.epsilon, spend.delta, "sum")
    if spend.count == 1:
        return stated
    return composed_at(spend, spend.delta) or stated


def composed_at(spend: Spend, delta: Fraction) -> Figure | None:
    """Return the smallest epsilon at a given delta; None where no epsilon is known to suffice."""
    figures = [Figure(spend.epsilon, delta, "sum")] if spend.delta <= delta else []
    exact = spend.loss.epsilon(delta)
    if exact is not None:
        figures.append(Figure(exact, delta, "noise" if spend.loss.noise else "pure"))
        if gains(spend.loss):
            finer = epsilon_by_distributions(spend.loss, delta, below=exact)
            figures += [] if finer is None else [Figure(finer, delta, "distributions")]
    return min(figures, key=lambda figure: figure.epsilon, default=None)
