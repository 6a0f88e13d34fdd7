"""Choose the budgets with which the leakage never exceeds alpha."""

from decimal import ROUND_CEILING, Decimal
from math import inf, isfinite, nextafter
from typing import Literal

from fugu.operators.leakage.any_start import LONGEST
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.leakage_function import LeakageFunction

_HALVINGS = 200


class UnboundedLeakage(ValueError):
    """Say that whatever is spent on every tick, the leakage about one of them has no limit.

    This is so where two values never lead to the same one, or never come from the same one (q0 = 1:
    the identity, permutations): what leaks about one tick then adds up without a limit. It is also
    so for any start where some value is left for good.
    """


def largest_epsilon(correlation: TemporalCorrelation, alpha: float, window: int = 1) -> float:
    """Find the most that every tick may spend, in nats, for the leakage to stay within alpha.

    Claim. A stream whose ticks spend at most this much each leaks at most alpha about every tick
    (or `window` consecutive ticks), however long it is. It holds for the exact leakage, since it is
    found with an upper bound. Raises `UnboundedLeakage` where nothing above 0 suffices.

    >>> rows = [[0.7, 0.3], [0.4, 0.6]]
    >>> often = TemporalCorrelation.of(rows, backward=rows)
    >>> round(largest_epsilon(often, alpha=1.0), 8)
    0.54059239
    >>> largest_epsilon(TemporalCorrelation.of([[1.0, 0.0], [0.0, 1.0]]), alpha=1.0)
    Traceback (most recent call last):
    fugu.operators.leakage.inversion.UnboundedLeakage: no budget above 0 keeps the leakage of an \
endless stream below a limit: two values never lead to the same one. End the stream after T ticks \
and spend alpha/T on each

    Source: budget allocation specification, section 6 (inversion, guard).
    """
    _require_alpha(alpha)
    low, high = 0.0, alpha
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        enough = middle > 0.0 and correlation.limit(middle, window) <= alpha
        low, high = (middle, high) if enough else (low, middle)
    if low == 0.0:
        raise UnboundedLeakage(
            f"no budget above 0 keeps the leakage of an endless stream below a limit: "
            f"{_why_none(correlation)}. End the stream after T ticks and spend alpha/T on each"
        )
    return low


def _why_none(correlation: TemporalCorrelation) -> str:
    if correlation.forward.bounded_below == 0.0:
        return "two values never lead to the same one"
    if correlation.backward.bounded_below == 0.0:
        if isinstance(correlation.backward, LeakageFunction):
            return "two values never come from the same one"
        return (
            f"after no number of ticks up to {LONGEST} can the same values be reached from every "
            "one, so that where somebody began may tell for ever. If readers take values to have "
            "come from each other in a way that you know, declare it as the backward matrix"
        )
    return "it would be below the smallest number there is"


def epsilons_for(correlation: TemporalCorrelation, alpha: float, ticks: int) -> tuple[float, ...]:
    """Find what each of `ticks` ticks may spend for the leakage about each to stay within alpha.

    On a stream of known length this is more than `largest_epsilon`.

    >>> rows = [[0.7, 0.3], [0.4, 0.6]]
    >>> often = TemporalCorrelation.of(rows, backward=rows)
    >>> [round(epsilon, 6) for epsilon in epsilons_for(often, alpha=1.0, ticks=4)]
    [0.770296, 0.540592, 0.540592, 0.770296]

    Source: budget allocation specification, section 6 (finite horizon).
    """
    _require_alpha(alpha)
    if ticks < 1:
        raise ValueError(f"ticks: must be at least 1, not {ticks}")
    if ticks == 1:
        return (alpha,)
    try:
        epsilon = largest_epsilon(correlation, alpha)
    except UnboundedLeakage:
        return (nextafter(alpha / ticks, 0.0),) * ticks
    first, last = correlation.backward.at_first(epsilon), correlation.forward.supremum(epsilon)
    return (first, *[epsilon] * (ticks - 2), last)


def _require_alpha(alpha: float) -> None:
    if not isfinite(alpha) or alpha <= 0.0:
        raise ValueError(f"alpha: must be a number of nats above 0, not {alpha}")


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
