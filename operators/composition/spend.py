"""Hold what promises about the same data let out, and turn sums of it into epsilon and delta.

>>> from fugu.operators.realtime.real_time_release import RealTimeRelease
>>> from fugu.operators.budget_units import in_nats
>>> from fugu.operators.composition.sums import add
>>> release = RealTimeRelease(1, 1, 1, epsilon=1.0, delta=1e-6, horizon=100)
>>> both = add([Spend.of(release.guarantees()[0])] * 2)
>>> figure = composed(both)
>>> in_nats(both.epsilon), in_nats(figure.epsilon) < 1.5, figure.account
(2.0, True, 'noise')
"""

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from math import isfinite
from typing import Literal

from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.composition.composed_loss import ComposedLoss, epsilon_by_distributions, gains
from fugu.operators.guarantee import GaussianLoss, Guarantee, Neighbours, Notion, Per, StatedLoss

_DIGITS = 60
_TOO_MUCH = 1000
"""Nats beyond which no delta stays below 1."""


NEVER_ADDED: dict[Notion, str] = {
    "sip": (
        "sip figures of different pipelines do not add up, not even under one model: each holds "
        "for readers who know the releases of that pipeline only. Add the figures without a model "
        "(ldp) instead"
    ),
    "swellfish": (
        "swellfish figures do not add up here: each is relative to the policies of its own "
        "pipeline. Answer both queries in one pipeline, under one set of policies"
    ),
    "delay-law": (
        "a delay-law is a distribution of delays and not a number of nats. Read the law of each "
        "pipeline by itself"
    ),
    "anonymity": (
        "anonymity does not add up: whoever intersects two anonymous releases about one user may "
        "find the user. Release one of them only"
    ),
}


class NotAddable(ValueError):
    """Refuse to add promises that have no sum; the text says why, and what to use instead."""


@dataclass(frozen=True)
class Spend:
    """Hold what promises about the same data spend together, per `per`; see `Guarantee`.

    `epsilon` and `delta` are sums of what is stated, exact: epsilon counts units of 2^-40 nat,
    rounded up, as ledgers do, and delta has finite precision in it. `loss` is what was lost, as a
    function, from which `accounts.composed` makes figures that are often far below the sums. It
    takes the same two steps as `sums.add` does: c changes in turn multiply a pure loss by c, and
    the squares of Gaussian noise by c^2; c windows with draws of their own are c losses. `records`
    is the most that one release of any of the promises is about.
    """

    notion: Notion
    epsilon: int
    delta: Fraction
    per: Per
    neighbours: Neighbours
    loss: ComposedLoss
    window: int | None = None
    tick_milliseconds: int | None = None
    tick_by_tick: bool = False
    delta_per_release: Fraction = Fraction(0)
    count: int = 1
    records: int = 1

    @classmethod
    def of(cls, guarantee: Guarantee) -> "Spend":
        """Return what one promise lets out; `NotAddable` if it bounds nothing."""
        if guarantee.notion == "anonymity":
            raise NotAddable(NEVER_ADDED["anonymity"])
        bounded = isfinite(guarantee.epsilon) and guarantee.total_delta < 1.0
        if not guarantee.sound or not bounded:
            raise NotAddable(
                f"{guarantee.notion}: a figure without a bound has no sum. Use a mechanism whose "
                "promise holds"
            )
        return cls(
            guarantee.notion,
            units_of(guarantee.epsilon),
            Fraction(guarantee.total_delta),
            guarantee.per,
            guarantee.neighbours,
            _loss_of(guarantee),
            guarantee.window,
            guarantee.tick_milliseconds,
            guarantee.tick_by_tick,
            Fraction(guarantee.delta_per_release),
            records=guarantee.records,
        )

    def times(self, number: int, *, apart: bool) -> "Spend":
        """Return the spend of so many changes in turn; `apart`: each meets other draws."""
        grown = Fraction(number) if apart else _hops(number, self.epsilon)
        per_release = self.delta_per_release * (1 if apart else grown)
        loss = self.loss
        return replace(
            self,
            epsilon=number * self.epsilon,
            loss=loss.repeated(number) if apart else loss.over(number, loss.beside * grown),
            delta=min(Fraction(1), self.delta * grown),
            delta_per_release=min(Fraction(1), per_release),
        )


def _loss_of(guarantee: Guarantee) -> ComposedLoss:
    """Return the loss of one promise; what its law does not account for of delta is beside it."""
    loss = guarantee.known_loss
    in_the_law = isinstance(loss, GaussianLoss | StatedLoss)
    beside = guarantee.finite_precision_delta if in_the_law else guarantee.total_delta
    return ComposedLoss.of(loss, Fraction(beside))


def _hops(number: int, epsilon: int) -> Fraction:
    """Return 1 + e^epsilon + e^(2 epsilon) + ..., so many terms, rounded up; `epsilon` in units."""
    if number == 1 or epsilon == 0:
        return Fraction(number)
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        nats = Decimal(epsilon) / UNITS_PER_NAT
        if number * nats > _TOO_MUCH:
            nats_of_all = Decimal(_TOO_MUCH)
            return Fraction(nats_of_all.exp().next_plus())
        grown = ((number * nats).exp().next_plus() - 1) / (nats.exp().next_minus() - 1)
        return Fraction(grown.next_plus())


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
    """Return the smallest epsilon at the delta that is stated; a single promise is as stated.

    Every account is a bound, so that the smallest epsilon is one too. The account is named with it.
    """
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
