"""What a real-time release promises, and what it does not promise, in words.

Source: real-time release specification, section 5.
"""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.sentences import CORRELATION
from fugu.operators.wevent.guarantees import beyond

_PROOF = (
    "real-time release specification, sections 2 (the filter is post-processing) and 5; Canonne, "
    "Kamath and Steinke 2020, Theorem 4 and Proposition 12"
)
_NOT_COVERED = (
    "contributions beyond what they are clamped to: they count as if they were at the border",
    "several contributions of one person to a tick, or several streams about the same people "
    "(another pipeline, or another statistic): budgets add",
    "other people whose contributions go with those of the person who is protected",
    "adding or removing whole records: when they arrive, how many there are, and which of them "
    "arrive late",
    "the times of records: so many people together as move stream time (ticks.stream_time) decide "
    "which ticks close when, and whose records count",
    "the weights of a filter, even if nobody knew them: they are not a secret, and hide nothing",
    "whoever obtains the secret can remove all randomness",
)
_OF_A_PERIOD = "an attacker with no knowledge of how a period of a person depends on the others"


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
) -> Guarantee:
    """For all ticks together, or for any `period` ticks in a row; `delta` is with all of it."""
    whole = period is None
    extent = "all ticks" if whole else f"any {period} consecutive ticks"
    anybody = "any prior, and any knowledge about everybody else"
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=epsilon,
        delta=delta,
        per="stream" if whole else "window",
        window=period,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=not whole,
        neighbours=neighbours,
        relative_to=anybody if whole else f"{_OF_A_PERIOD}; {anybody}",
        composition=(
            f"{extent} together are within the budget: zero-concentrated figures of ticks add up "
            "before they become epsilon and delta, finite precision is part of delta, a tick "
            "without a value costs nothing, and so does what the filter makes of noisy values"
        ),
        trust="the pipeline, its state and its partial sums see exact values; readers of the "
        "sanitized topic do not",
        assumptions=(
            f"one such change moves at most {changed} of the {bins} bins of a tick, each by "
            f"at most {sensitivity} units: contributions are clamped, and there is at most one for "
            "each person and tick",
            "the keyed hash BLAKE2b is a pseudo-random function of the secret",
        ),
        not_covered=(
            *(() if whole else (_of_periods(period), CORRELATION)),
            *beyond(neighbours),
            *_NOT_COVERED,
        ),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )


def _of_periods(period: int | None) -> str:
    return (
        f"what one person contributes to more than {period} ticks: every period of so many ticks "
        "has a budget of its own, and budgets of periods add up without end"
    )
