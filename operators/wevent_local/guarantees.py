"""The guarantee of reports under a budget of windows: PBA specification, sections 1 and 3."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.points import (
    ARRIVALS,
    BEYOND_A_WINDOW,
    KEYED_HASH,
    RAW_VALUES_SEEN,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    STREAMS_INDEPENDENT,
    Point,
)

_RECORDS_INDEPENDENT = Point(
    "records-independent",
    "an adversary with no knowledge of how the records of a stream depend on each other, but any "
    "other prior",
)
_CORRELATED_RECORDS = Point(
    "correlated-records",
    "an adversary who knows how the records of a stream depend on each other: what such an "
    "adversary learns about one record, or about a window, may exceed epsilon",
)
_COUNTED = Point(
    "window-of-records",
    "decisions and reports of any window are charged at most epsilon together; whether a record "
    "has a new report is public, and counted; records are in a row as they are released, so one "
    "that fugu redrive releases later counts there",
)
_PROOF = Point(
    "donors",
    "PBA specification, sections 1, 3 and 4; every transcript of two symbols and up to four "
    "releases is enumerated, for windows of up to three",
)


def reports_guarantee(epsilon: float, window: int) -> Guarantee:
    """Return w-event local privacy of `epsilon` nats for any `window` records in a row."""
    return Guarantee(
        notion="w-event-ldp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        tick_by_tick=True,
        neighbours=Neighbours("stream", "symbol", "replaced"),
        adversary=_RECORDS_INDEPENDENT,
        accounting=(_COUNTED,),
        trust=RAW_VALUES_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(
            ARRIVALS,
            _CORRELATED_RECORDS,
            BEYOND_A_WINDOW,
            REFUSED,
            SAME_PEOPLE,
            SECRET,
        ),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )
