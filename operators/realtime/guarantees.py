"""The guarantee of real-time release, over all ticks or over those of a period."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.loss import GaussianLoss
from fugu.operators.sentences import (
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
)
from fugu.operators.wevent.guarantees import beyond

_PROOF = (
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, section 4, Theorems 3 (exact account) and 4 (finite precision)"
)
WEIGHTS = (
    "the weights of a filter, even if nobody knew them: they are not a secret, and hide nothing"
)
_NOT_COVERED = (
    "contributions beyond what they are clamped to: they count as if they were at the border",
    "several contributions of one person to a tick, or several streams about the same people "
    "(another pipeline, or another statistic): budgets add",
    "other people whose contributions go with those of the person who is protected",
    WHOLE_RECORDS,
    TIMES_OF_RECORDS,
    WEIGHTS,
    SECRET,
)


def real_time_guarantee(
    *,
    epsilon: float,
    delta: float,
    period: int | None,
    bins: int,
    changed: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    squares: int,
) -> Guarantee:
    """Return (epsilon, delta)-DP of all ticks together, or of any `period` ticks in a row.

    `delta` includes that of finite precision; `squares` is what all draws may differ by (`loss`).
    Source: continual release specification, section 4.
    """
    whole = period is None
    extent = "all ticks" if whole else f"any {period} consecutive ticks"
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=epsilon,
        delta=delta,
        per="stream" if whole else "window",
        window=period,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=not whole,
        neighbours=neighbours,
        relative_to=(
            ("" if whole else knowing_no_periods("person"))
            + "any prior, and any knowledge about everybody else"
        ),
        composition=(
            f"{extent} together are within the budget: squares of sensitivity over deviation "
            "add up before they become epsilon and delta, finite precision is part of delta, a "
            "tick without a value costs nothing, and so does what the filter makes of noisy values"
        ),
        trust=EXACT_SUMS_SEEN,
        assumptions=(
            f"one such change moves at most {changed} of the {bins} bins of a tick, each by "
            f"at most {sensitivity} units: contributions are clamped, and there is at most one for "
            "each person and tick",
            KEYED_HASH,
        ),
        not_covered=(
            *beyond_periods("what one person contributes to", period),
            *beyond(neighbours),
            *_NOT_COVERED,
        ),
        proof=_PROOF,
        finite_precision_delta=0.0,
        loss=GaussianLoss(squares),
    )


def knowing_no_periods(whose: str) -> str:
    """Return the adversary that a promise about a period is relative to."""
    return f"an attacker with no knowledge of how a period of a {whose} depends on the others; "


def beyond_periods(what: str, period: int | None) -> tuple[str, ...]:
    """Return what a promise about a period leaves open; nothing where it is about all ticks."""
    if period is None:
        return ()
    return (
        f"{what} more than {period} ticks: every period of so many ticks has a budget of its own, "
        "and budgets of periods add up without end",
        CORRELATION,
    )
