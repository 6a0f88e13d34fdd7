"""The only words in which temporal privacy leakage may be promised."""

from decimal import ROUND_CEILING, Decimal
from math import inf
from typing import Literal

_SHOWN = Decimal("0.0001")
_UNSEEN = Decimal("1e-9")

Neighbours = Literal["add/remove", "change-one"]


def in_words(
    window: int,
    epsilon: float,
    about_one: float,
    about_window: float,
    neighbours: Neighbours = "change-one",
) -> str:
    """Tell what `epsilon` nats per `window` ticks promise, and to whom they do not.

    `about_one` and `about_window` are the leakage about one tick and about `window` of them.
    Differential privacy says nothing about an adversary with a Markov model, so no text may claim
    it for them, whatever is spent.

    >>> print(in_words(window=3, epsilon=3.0, about_one=1.7763881, about_window=float("inf")))
    Within any 3 consecutive ticks the releases are 3-differentially private for one user's data \
(w-event; change-one), for an attacker with no knowledge of how that person's ticks depend on each \
other. For an attacker who knows the transition matrix P the leakage about one tick is at most \
TPL=1.7764, and about 3 ticks it has no upper bound (TPL_w=∞); these may exceed ε and, for some P, \
have no upper bound. Setting the correlation flag improves accuracy, not privacy.

    Source: budget allocation specification, section 6.
    """
    ticks = f"any {window} consecutive ticks" if window > 1 else "any one tick"
    leakage = f"the leakage about one tick {_at_most('TPL', about_one)}"
    if window > 1:
        leakage += f", and about {window} ticks it {_at_most('TPL_w', about_window)}"
    return (
        f"Within {ticks} the releases are {epsilon:g}-differentially private for one user's data "
        f"(w-event; {neighbours}), for an attacker with no knowledge of how that person's ticks "
        f"depend on each other. For an attacker who knows the transition matrix P {leakage}; "
        "these may exceed ε and, for some P, have no upper bound. "
        "Setting the correlation flag improves accuracy, not privacy."
    )


def backward_in_words(given: str | None) -> str:
    """Tell for whom the figures hold, by what came before a value; `given` names the matrix."""
    if given is None:
        return "the figures hold for every law of the first value, wherever a person began"
    return (
        f"the figures hold for attackers who take values to have come from each other as {given} "
        "says, at every tick; whoever knows of another beginning may learn more"
    )


def rounded_up(nats: float) -> str:
    """Write four decimals, never below the figure by more than a billionth."""
    if nats == inf:
        return "∞"
    return str(max(Decimal(0), Decimal(nats) - _UNSEEN).quantize(_SHOWN, ROUND_CEILING))


def _at_most(name: str, nats: float) -> str:
    if nats == inf:
        return f"has no upper bound ({name}=∞)"
    return f"is at most {name}={rounded_up(nats)}"
