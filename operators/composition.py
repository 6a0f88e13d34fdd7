"""What several promises about the same data let out together: sums, and bounds below the sum.

Claim. `add`: pipelines over one source that draw independently, and that promise the same notion
over the same extent, leak at most the sum of their epsilons, with the sum of their deltas.
`advanced`: with probability at least 1 - delta, releases of one stream by one Sequence Information
Privacy (SIP) mechanism, with epsilons fixed in advance, leak at most the result, relative to the
model only. `largest_window_sum`: no `window` consecutive positions cost more. `delta_of_zcdp` and
`epsilon_of_zcdp`: whatever is rho-zCDP is (epsilon, delta)-DP; values of rho add up beforehand.

Not everything may be added. SIP bounds P(z given x) / P(z) for readers who know the releases z of
one mechanism. Its own releases add up, because its belief is the posterior given all of them. A
reader who knows the releases y of another pipeline too learns P(z given x) / P(z given y), and that
may be as large as the figure without a model: two pipelines that each release one fair bit with
epsilon leak ln(1 + 2 e^(2 epsilon) - 2 e^epsilon), which is more than 2 epsilon.

Parameters: epsilons and rho in nats; a `Spend` counts epsilon in units of 2^-40 nat, as ledgers do;
a window counts positions. Sums are exact, of epsilons rounded up. Bounds in doubles are rounded up,
with an allowance for their own rounding: a relative 1e-12 for `advanced`, and below a relative 1e-9
of delta for zCDP while -ln(delta) is below 1000.

>>> from operators.sip.guarantees import crr_guarantees
>>> exact = dict(rounding_epsilon=0.0, rounding_covered=True, sampling_error=0.0)
>>> zones, moods = (crr_guarantees(epsilon=epsilon, **exact) for epsilon in (1.0, 0.5))
>>> both = add([Spend.of(zones[1]), Spend.of(moods[1])])
>>> both.notion, in_nats(both.epsilon), both.per, both.count
('ldp', 3.0, 'release', 2)
>>> add([Spend.of(zones[0]), Spend.of(moods[0])])
Traceback (most recent call last):
operators.composition.NotAddable: sip figures of different pipelines do not add up, not even under \
one model: ...
>>> round(advanced([0.1] * 1000, delta=0.05), 2)
13.59
>>> largest_window_sum([5, 1, 4, 3, 0], window=2)
7
>>> round(epsilon_of_zcdp(0.05, delta=1e-5), 4)
1.3081

Source: SIP specification, section 7 (Theorem 2, corrected); real-time release specification,
section 5; Canonne, Kamath and Steinke 2020, Proposition 12; Kellaris et al. 2014 (w-event sums).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, fsum, inf, isfinite, log, log1p, nextafter, sqrt, tanh

from operators.mechanism import Guarantee, Notion, Per
from operators.nats import in_nats, units_of

_ADVANCED_ROUNDING = 1e-12
_ZCDP_ROUNDING = 2.0**-48
"""Relative, of the sum of the magnitudes that make up ln(delta)."""
_HALVINGS = 100
_TINY = 1e-300

_NEVER_ADDED: dict[Notion, str] = {
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
    """These promises have no sum; the text says why, and what to use instead."""


@dataclass(frozen=True)
class Spend:
    """What `count` promises about one source let out together.

    `epsilon` counts units of 2^-40 nat; `finite_precision_delta` is per release of each of them.
    """

    notion: Notion
    epsilon: int
    delta: Fraction
    finite_precision_delta: Fraction
    per: Per
    window: int | None = None
    count: int = 1

    @classmethod
    def of(cls, guarantee: Guarantee) -> "Spend":
        """What one promise lets out; `NotAddable` if it bounds nothing."""
        if not guarantee.sound or not isfinite(guarantee.epsilon):
            raise NotAddable(
                f"{guarantee.notion}: a figure without a bound has no sum. Use a mechanism whose "
                "promise holds"
            )
        return cls(
            guarantee.notion,
            units_of(guarantee.epsilon),
            Fraction(guarantee.delta),
            Fraction(guarantee.finite_precision_delta),
            guarantee.per,
            guarantee.window,
        )


def add(spends: Sequence[Spend]) -> Spend:
    """What several pipelines about the same source let out together; one alone is its own sum.

    Raises `NotAddable` for promises of different notions or extents, and for notions that have no
    sum over pipelines. The pipelines must draw independently: under secrets or names of their own.
    """
    if not spends:
        raise ValueError("spends: needs at least one")
    first = spends[0]
    if len(spends) == 1:
        return first
    _require_one_kind(spends)
    return replace(
        first,
        epsilon=sum(spend.epsilon for spend in spends),
        delta=min(Fraction(1), sum((spend.delta for spend in spends), Fraction(0))),
        finite_precision_delta=min(
            Fraction(1), sum((spend.finite_precision_delta for spend in spends), Fraction(0))
        ),
        count=sum(spend.count for spend in spends),
    )


def _require_one_kind(spends: Sequence[Spend]) -> None:
    notions = list(dict.fromkeys(spend.notion for spend in spends))
    if len(notions) > 1:
        raise NotAddable(
            f"{' and '.join(notions)} are different promises and do not add up. Add the figures "
            "of one notion that every pipeline states"
        )
    if notions[0] in _NEVER_ADDED:
        raise NotAddable(_NEVER_ADDED[notions[0]])
    extents = list(dict.fromkeys(spend.per for spend in spends))
    if len(extents) > 1:
        raise NotAddable(
            f"a figure per {' and one per '.join(extents)} do not add up: they bound different "
            "things. Give every pipeline a total over a stream's life, or none of them"
        )
    windows = list(dict.fromkeys(spend.window for spend in spends))
    if len(windows) > 1:
        raise NotAddable(
            f"figures over windows of {' and '.join(map(str, windows))} do not add up. A promise "
            "over a window holds over every shorter one: state all of them over the shortest"
        )


def advanced(epsilons: Sequence[float], delta: float) -> float:
    """The corrected advanced composition of SIP releases, never above their sum, in nats.

    For epsilons fixed in advance and relative to the model only: with probability `delta` a stream
    leaks more than this, and up to the sum.
    """
    if not all(isfinite(epsilon) and epsilon >= 0.0 for epsilon in epsilons):
        raise ValueError("epsilons: must be numbers of nats, none of them negative")
    _require_probability(delta)
    drift = fsum(epsilon * tanh(epsilon / 2.0) for epsilon in epsilons)
    squares = fsum(epsilon * epsilon for epsilon in epsilons)
    bound = (drift + sqrt(2.0 * (log(2.0) - log(delta)) * squares)) * (1.0 + _ADVANCED_ROUNDING)
    return min(in_nats(sum(map(units_of, epsilons))), nextafter(bound, inf))


def largest_window_sum(charges: Sequence[int], window: int) -> int:
    """The most that any `window` consecutive positions cost, exactly; fewer positions count whole.

    `charges` are integers, such as units of 2^-40 nat, one for each position in order.
    """
    if window < 1:
        raise ValueError(f"window: must be at least 1 position, not {window}")
    largest = current = 0
    for position, charge in enumerate(charges):
        current += int(charge)
        if position >= window:
            current -= int(charges[position - window])
        largest = max(largest, current)
    return largest


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """A delta for which rho-zCDP is (epsilon, delta)-DP: the tight conversion, rounded up.

    The minimum over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha/(alpha-1).
    Every alpha gives a bound, so that an inexact minimum is one too.
    """
    _require_nats("rho", rho)
    _require_nats("epsilon", epsilon)
    if rho == 0.0:
        return 0.0

    def rises(beyond: float) -> bool:
        return (2.0 * beyond + 1.0) * rho - epsilon - log1p(1.0 / beyond) >= 0.0

    beyond = _smallest(rises, 1.0 + (epsilon + 1.0) / (2.0 * rho))
    drift = beyond * rho * (1.0 + beyond)
    gain = beyond * epsilon
    entropy = log1p(beyond) + beyond * log1p(1.0 / beyond)
    allowance = _ZCDP_ROUNDING * (1.0 + drift + gain + entropy)
    return min(1.0, nextafter(exp(min(0.0, drift - gain - entropy + allowance)), inf))


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """An epsilon for which rho-zCDP is (epsilon, delta)-DP: the tight conversion, rounded up."""
    _require_nats("rho", rho)
    _require_probability(delta)

    def suffices(epsilon: float) -> bool:
        return delta_of_zcdp(rho, epsilon) <= delta

    if suffices(0.0):
        return 0.0
    simple = rho + 2.0 * sqrt(rho * -log(delta))
    return _smallest(suffices, simple * (1.0 + _ADVANCED_ROUNDING))


def _smallest(holds: Callable[[float], bool], enough: float) -> float:
    """The smallest positive number for which `holds`, from above; it must hold for `enough`."""
    low, high = _TINY, enough
    for _ in range(_HALVINGS):
        middle = sqrt(low) * sqrt(high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _require_nats(name: str, value: float) -> None:
    if not isfinite(value) or value < 0.0:
        raise ValueError(f"{name}: must be a number of nats, 0 or more, not {value}")


def _require_probability(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: must be above 0 and below 1, not {delta}")
