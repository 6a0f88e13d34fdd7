"""State the guarantee of factorised noise, for windows of a horizon or for periods under a cap."""

from fugu.operators.guarantee import Guarantee, Neighbours
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
from fugu.operators.totals.precision import Precision
from fugu.operators.wevent.guarantees import beyond

TOTALS = Point(
    "factorised-noise",
    "noise is added to mixed values, of which all releases are post-processing; neighbours differ "
    "by at most {squares:,} squared steps of noise in all ticks together, rounding included, and "
    "finite precision is part of delta",
)
ESTIMATES = Point(
    "shaped-noise",
    "noise is added to mixed values, of which filtered estimates are post-processing; neighbouring "
    "ones differ by at most {squares:,} squared steps of noise in all ticks together, rounding "
    "included, and finite precision is part of delta",
)
_SENSITIVITY = Point(
    "sensitivity-of-totals",
    "neighbouring inputs differ in at most {counted:,} of {ticks:,} ticks, in each of them by at "
    "most {units:,} units a group: contributions are clamped, and there is at most one for each "
    "person and tick",
)
_AFTER_THE_HORIZON = Point(
    "after-the-horizon", "ticks after the first {horizon:,}: they are not released at all"
)
PROOF_OF_TOTALS = Point(
    "running-total",
    "continual release specification, sections 2 (Theorems 1 and 2), 3 (rounding) and 4 (Theorems "
    "3 and 4)",
)
PROOF_OF_ESTIMATES = Point(
    "shaped-real-time-release",
    "real-time release specification, section 2 (the filter is post-processing); continual release "
    "specification, sections 2 (Theorems 1 and 2), 3 (rounding) and 4 (Theorems 3 and 4)",
)


def total_guarantee(
    *,
    precision: Precision,
    horizon: int | None,
    cap: PersonalCap | None,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    accounting: Point = TOTALS,
    proof: Point = PROOF_OF_TOTALS,
    left_open: tuple[Point, ...] = (),
) -> Guarantee:
    """Return (epsilon, delta)-DP of everything, of a window, or of a period under a `cap`.

    `accounting` says what is made of mixed values, and `left_open` what that does not promise.
    Source: continual release specification, sections 2 to 4.
    """
    changes = precision.changes
    whole = cap is None and changes.counted == horizon
    window = None if whole else cap.ticks if cap is not None else changes.counted
    beyond_one = BEYOND_A_WINDOW if cap is None else BEYOND_A_PERIOD
    open_end = () if whole else (beyond_one, CORRELATION)
    after = () if horizon is None else (_AFTER_THE_HORIZON.of(horizon=horizon),)
    capped = () if cap is None else (CAPPED.of(at_most=cap.at_most, ticks=cap.ticks),)
    assumed: tuple[Point, ...] = (ONE_GROUP.of(units=changes.amount), CAP_CHOSEN_IN_PUBLIC)
    if cap is None:
        assumed = (
            _SENSITIVITY.of(counted=changes.counted, ticks=changes.ticks, units=changes.amount),
        )
    return Guarantee(
        notion="dp" if whole else "w-event-dp",
        epsilon=precision.epsilon,
        delta=precision.delta,
        per="stream" if whole else "window" if cap is None else "period",
        window=window,
        tick_milliseconds=None if whole else tick_milliseconds,
        tick_by_tick=cap is not None,
        neighbours=neighbours,
        adversary=OTHERS_KNOWN if whole else WINDOWS_INDEPENDENT,
        accounting=(accounting.of(squares=precision.squares), *capped),
        trust=EXACT_SUMS_SEEN,
        assumptions=(*assumed, KEYED_HASH),
        not_covered=(
            *after,
            *open_end,
            *beyond(neighbours),
            CLAMPED,
            SAME_PEOPLE,
            DEPENDENT_OTHERS,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            *left_open,
            SECRET,
        ),
        proof=proof,
        finite_precision_delta=0.0,
        loss=precision.loss,
    )
