"""State the guarantee of real-time release, over all ticks or over those of a period."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.loss import GaussianLoss
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.points import (
    BEYOND_A_PERIOD,
    BEYOND_A_WINDOW,
    CAP_CHOSEN_IN_PUBLIC,
    CAPPED,
    CLAMPED,
    CORRELATION,
    DEPENDENT_OTHERS,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    ONE_GROUP,
    OTHERS_KNOWN,
    SAME_PEOPLE,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    WINDOWS_INDEPENDENT,
    Point,
)
from fugu.operators.wevent.guarantees import beyond

FILTER_WEIGHTS = Point(
    "filter-weights",
    "the weights of a filter, even if nobody knew them: they are not a secret, and hide nothing",
)
DECLARED = Point(
    "declared-in-public",
    "what the filter is told beforehand (a model, a history, weights), and shares of the budget: "
    "they are taken to be public. If they were made from the records that are protected, they say "
    "more about them, at a price that nobody counted",
)
_ACCOUNTING = Point(
    "gaussian-budget",
    "squares of sensitivity over deviation add up over ticks before they become epsilon and delta; "
    "finite precision is part of delta; a tick without a value costs nothing, and the filter is "
    "post-processing",
)
_SENSITIVITY = Point(
    "sensitivity-of-bins",
    "neighbouring inputs differ in at most {changed:,} of the {bins:,} bins of a tick, in each by "
    "at most {units:,} units: contributions are clamped, and there is at most one for each person "
    "and tick",
)
_PROOF_CAPPED = Point(
    "real-time-release-capped",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, sections 2, Theorem 1 (personal caps), and 4, Theorems 3 and 4",
)
_PROOF = Point(
    "real-time-release",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, section 4, Theorems 3 (exact account) and 4 (finite precision)",
)


def real_time_guarantee(
    *,
    epsilon: float,
    delta: float,
    period: int | None,
    cap: PersonalCap | None = None,
    bins: int,
    changed: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    squares: int,
    draws: int,
    declared: bool = False,
) -> Guarantee:
    """Return (epsilon, delta)-DP of all ticks together, of any `period` ticks in a row, or of an
    aligned period of a personal `cap`.

    `delta` includes that of finite precision; `squares` is what all `draws` may differ by;
    `declared`, whether the filter or the budget follows figures that somebody chose.
    Source: continual release specification, section 4.
    """
    whole = period is None and cap is None
    capped = () if cap is None else (CAPPED.of(at_most=cap.at_most, ticks=cap.ticks),)
    assumed: tuple[Point, ...] = (_SENSITIVITY.of(bins=bins, changed=changed, units=sensitivity),)
    if cap is not None:
        assumed = ONE_GROUP.of(units=sensitivity), CAP_CHOSEN_IN_PUBLIC
    beyond_one = BEYOND_A_WINDOW if cap is None else BEYOND_A_PERIOD
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=epsilon,
        delta=delta,
        per="stream" if whole else "window" if cap is None else "period",
        window=period if cap is None else cap.ticks,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=not whole,
        neighbours=neighbours,
        adversary=OTHERS_KNOWN if whole else WINDOWS_INDEPENDENT,
        accounting=(_ACCOUNTING, *capped),
        trust=EXACT_SUMS_SEEN,
        assumptions=(*assumed, KEYED_HASH),
        not_covered=(
            *(() if whole else (beyond_one, CORRELATION)),
            *beyond(neighbours),
            CLAMPED,
            SAME_PEOPLE,
            DEPENDENT_OTHERS,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            FILTER_WEIGHTS,
            *((DECLARED,) if declared else ()),
            SECRET,
        ),
        proof=_PROOF if cap is None else _PROOF_CAPPED,
        finite_precision_delta=0.0,
        loss=GaussianLoss(squares, draws),
    )


def beyond_windows(period: int | None) -> tuple[Point, ...]:
    """Return what a promise about windows leaves open; nothing where it is about all ticks."""
    return () if period is None else (BEYOND_A_WINDOW, CORRELATION)
