"""The guarantee of reports under a budget of windows: PBA specification, sections 1 and 3."""

from dataclasses import replace

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.points import (
    ARRIVALS,
    BEYOND_A_WINDOW,
    CORRELATION,
    KEYED_HASH,
    RAW_VALUES_SEEN,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    STREAMS_INDEPENDENT,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    Point,
)
from fugu.operators.wevent_local.report_ticks import ReportTicks

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


_TICKS_INDEPENDENT = Point(
    "stream-ticks-independent",
    "an adversary with no knowledge of how the ticks of a stream depend on each other, but any "
    "other prior",
)
_EVERY_TICK = Point(
    "window-of-ticks",
    "decisions and reports of any window are charged at most epsilon together; a stream releases "
    "something at every tick, whether it has a symbol or not, and whether that is new is counted",
)
_BEGINNING = Point(
    "beginning",
    "when a stream begins, and when it goes on after its declared life: that it has a record in "
    "that tick is public, and that it had none in the ticks before",
)
_SECOND_IN_TICK = Point(
    "second-in-tick",
    "that a stream has a record in a tick, if it has several there: each but the first becomes a "
    "dead letter (ticks.several: error; with last or first nothing shows)",
)


def reports_guarantee(epsilon: float, window: int, ticks: ReportTicks | None) -> Guarantee:
    """Return w-event local privacy of `epsilon` nats for any `window` records, or ticks, in a row.

    In ticks it covers absence, too. Whole records may be added or removed if they do not move
    stream time, and none is refused for being the second one of its tick.
    """
    independent, counted = _RECORDS_INDEPENDENT, _COUNTED
    neighbours = Neighbours("stream", "symbol", "replaced")
    own: tuple[Point, ...] = (ARRIVALS, _CORRELATED_RECORDS)
    if ticks is not None:
        independent, counted = _TICKS_INDEPENDENT, _EVERY_TICK
        neighbours, own = Neighbours("stream", "symbol", "replaced-or-none"), (_BEGINNING,)
        if ticks.moved_by_streams:
            own = (*own, WHOLE_RECORDS, TIMES_OF_RECORDS)
        else:
            neighbours = replace(neighbours, kept=("timestamp",))
        if ticks.seconds_refused:
            own = (*own, _SECOND_IN_TICK)
        own = (*own, CORRELATION)
    return Guarantee(
        notion="w-event-ldp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        tick_milliseconds=None if ticks is None else ticks.milliseconds,
        tick_by_tick=True,
        neighbours=neighbours,
        adversary=independent,
        accounting=(counted,),
        trust=RAW_VALUES_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(*own, BEYOND_A_WINDOW, REFUSED, SAME_PEOPLE, SECRET),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )
