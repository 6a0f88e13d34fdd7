"""The guarantee of w-event strategies: PBA specification, sections 1 and 6."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.points import (
    BEYOND_A_WINDOW,
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SAME_PEOPLE,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    Point,
)

_TICKS_INDEPENDENT = Point(
    "ticks-independent",
    "an adversary with no knowledge of how the ticks of a person depend on each other, but any "
    "other prior, and any knowledge about everybody else",
)
_SENSITIVITY = Point(
    "sensitivity",
    "neighbouring inputs differ in at most {changed:,} of the {bins:,} bins of a tick, by at most "
    "{units:,} units in total: contributions are clamped, and there is at most one for each person "
    "and tick",
)
_TWICE = Point(
    "replaced",
    "which contribution there is, where there is one: to replace it by another one is two such "
    "changes, and is protected with twice epsilon and (1 + e^epsilon) delta only",
)


def beyond(neighbours: Neighbours) -> tuple[Point, ...]:
    """Return what the promise leaves open where it is about presence."""
    return (_TWICE,) if neighbours.change == "presence" else ()


def window_guarantee(
    *,
    epsilon: float,
    window: int,
    bins: int,
    draws: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    accounting: Point,
    not_covered: tuple[Point, ...] = (),
    proof: Point,
    tick_by_tick: bool = True,
    largest: float | None = None,
) -> Guarantee:
    """Return w-event privacy of `epsilon` nats per `window` ticks.

    `draws`: how many draws of a tick meet data that differ between neighbours, at most; `largest`:
    what one draw loses at most, in nats. Source: PBA specification, sections 1 and 6.
    """
    changed = min(bins, neighbours.bins)
    return Guarantee(
        notion="w-event-dp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        tick_by_tick=tick_by_tick,
        window=window,
        tick_milliseconds=tick_milliseconds,
        neighbours=neighbours,
        adversary=_TICKS_INDEPENDENT,
        accounting=(accounting,),
        trust=EXACT_SUMS_SEEN,
        assumptions=(_SENSITIVITY.of(bins=bins, units=sensitivity, changed=changed), KEYED_HASH),
        not_covered=(
            *not_covered,
            *beyond(neighbours),
            CORRELATION,
            BEYOND_A_WINDOW,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            SAME_PEOPLE,
            SECRET,
        ),
        proof=proof,
        finite_precision_delta=finite_precision_delta(
            epsilon, TOTAL_VARIATION, window * draws, largest
        ),
    )
