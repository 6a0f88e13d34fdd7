"""The guarantee of counts from private reports: PBA specification, sections 1 and 4."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.points import (
    ARRIVALS,
    BEYOND_A_WINDOW,
    KEYED_HASH,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    STREAMS_INDEPENDENT,
    TIMES_OF_RECORDS,
    Point,
)

_TICKS_INDEPENDENT = Point(
    "ticks-of-a-user-independent",
    "an adversary with no knowledge of how the ticks of a user depend on each other, but any other "
    "prior; it may be the collector itself, who reads the internal log and may write any "
    "instruction into it",
)
_CORRELATED_TICKS = Point(
    "correlated-ticks",
    "an adversary who knows how the ticks of a user depend on each other: what such an adversary "
    "learns about one tick, or about a window, may exceed epsilon",
)
_REPORTS_SEEN = Point(
    "reports-seen",
    "the part of the pipeline that reads the source, and its state, see true symbols; the internal "
    "log, the collector and all readers see reports and sums of reports only",
)
_PRESENCE = Point(
    "presence-of-users",
    "who has a record in a tick, and how many: whoever has none reports nothing, and the number of "
    "users who are there is published",
)
_PROOF = Point(
    "users-keep-their-budget",
    "PBA specification, section 4 (LDP-IDS), decided one tick ahead; every transcript of small "
    "domains is enumerated, and every sequence of instructions, made by the collector or not",
)


def collected_guarantee(
    epsilon: float, window: int, tick_milliseconds: int | None, accounting: Point
) -> Guarantee:
    """Return w-event local privacy of `epsilon` nats for any `window` ticks in a row."""
    return Guarantee(
        notion="w-event-ldp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        tick_milliseconds=tick_milliseconds,
        tick_by_tick=True,
        neighbours=Neighbours("person", "symbol", "replaced"),
        adversary=_TICKS_INDEPENDENT,
        accounting=(accounting,),
        trust=_REPORTS_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(
            _PRESENCE,
            ARRIVALS,
            _CORRELATED_TICKS,
            BEYOND_A_WINDOW,
            REFUSED,
            TIMES_OF_RECORDS,
            SAME_PEOPLE,
            SECRET,
        ),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )
