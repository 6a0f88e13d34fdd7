"""Promises of configured mechanisms, as data; sentences are written from them elsewhere."""

from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import Literal

from fugu.operators.loss import Loss, PureLoss, StatedLoss
from fugu.operators.points import (
    ANY_PRIOR,
    ARRIVALS,
    KEYED_HASH,
    RAW_VALUES_SEEN,
    REFUSED,
    SECRET,
    STREAMS_INDEPENDENT,
    Point,
)

Notion = Literal[
    "sip", "ldp", "w-event-dp", "w-event-ldp", "swellfish", "dp", "delay-law", "anonymity"
]

Per = Literal["release", "window", "period", "interval", "stream"]
"""Name what epsilon counts, and so in what neighbouring inputs may differ: the record
of one release, the records of any `window` consecutive ticks, those of one of the aligned periods
of `window` ticks, what policies say may change within one of their relevance intervals, or all
records of a stream."""

Change = Literal["replaced", "replaced-or-none", "presence", "believed", "stated", "delayed"]
"""Name the change of any part that neighbours may differ in: another value takes the place of each;
another one or none, and the other way round; it is there or not, but no other takes its place; what
is true, against what was believed of it; what policies state, within their thresholds; the tick of
each, within `reach`."""

Kept = Literal["presence", "offset", "timestamp"]

Composition = Literal["none", "total", "releases", "windows", "intervals"]
"""Name the composition over the life of a stream: none at all; epsilon is the total; or every
further release, window (or period) or relevance interval adds its own, without a bound."""

_COMPOSITIONS: dict[Per, Composition] = {
    "release": "releases",
    "window": "windows",
    "period": "windows",
    "interval": "intervals",
    "stream": "total",
}


@dataclass(frozen=True)
class Neighbours:
    """Define the neighbouring relation: in what of one person, or stream, two inputs may differ.

    The extent of it is the `per` of the guarantee. `kept`: what is the same for every record; a
    record whose presence is not kept may be added or removed.
    """

    whose: Literal["person", "stream"]
    what: Literal["contribution", "symbol", "number", "tick"]
    change: Change
    kept: tuple[Kept, ...] = ("presence", "offset", "timestamp")
    reach: int | None = None

    @property
    def bins(self) -> int:
        """Return the most bins of a tick that one change moves. It takes a person from one bin to
        another, unless no contribution takes the place of another one."""
        return 1 if self.change == "presence" else 2


@dataclass(frozen=True)
class Guarantee:
    """State the promise of a configured mechanism as data.

    `epsilon` is in nats. It and both deltas hold per `per`; `window` counts ticks where that is a
    window or a period, each of `tick_milliseconds`, aligned to 1970; None: ticks have no length in
    time. A release is about `records` records.

    `adversary` is whom it is stated against, `trust` who sees raw values, `accounting` how releases
    keep to epsilon, and `proof` where that is shown, or why nothing is promised.

    `loss` says more than epsilon and delta do, and None that they say all; finite precision is
    beside it. `finite_precision_delta` is the delta that sampling in finite precision adds to
    `delta`, 0 where that includes it; `delta_per_release` is the rest of it, of every release,
    where their number has no bound. `tick_by_tick`: a release depends on the data of its own tick
    and on earlier releases only, so that promises, deltas too, add up from one window to the next.
    """

    notion: Notion
    epsilon: float
    delta: float
    per: Per
    neighbours: Neighbours
    adversary: Point
    accounting: tuple[Point, ...]
    trust: Point
    assumptions: tuple[Point, ...]
    not_covered: tuple[Point, ...]
    proof: Point
    finite_precision_delta: float
    window: int | None = None
    records: int = 1
    tick_milliseconds: int | None = None
    tick_by_tick: bool = False
    delta_per_release: float = 0.0
    sound: bool = True
    loss: Loss | None = None

    @property
    def total_delta(self) -> float:
        """Return the delta to state: with that of finite precision, rounded up."""
        if self.finite_precision_delta == 0.0:
            return self.delta
        return min(1.0, nextafter(self.delta + self.finite_precision_delta, inf))

    @property
    def composition(self) -> Composition:
        """Return what further releases of a stream add."""
        if self.notion in ("delay-law", "anonymity"):
            return "none"
        return _COMPOSITIONS[self.per]

    @property
    def known_loss(self) -> Loss:
        """Return the loss of what is drawn, as a function of epsilon."""
        if self.loss is not None:
            return self.loss
        return StatedLoss(self.epsilon, self.delta) if self.delta else PureLoss(self.epsilon)

    def of_releases(self, number: int | None) -> "Guarantee":
        """Return the promise with the deltas of so many releases; None: of any number.

        The loss of one release is not that of all.
        """
        if number is None:
            none = replace(self, delta=0.0, finite_precision_delta=0.0, loss=None)
            return replace(none, delta_per_release=self.total_delta)
        return replace(
            self,
            loss=None,
            delta=_times(number, self.delta),
            finite_precision_delta=_times(number, self.finite_precision_delta),
        )


def _times(number: int, delta: float) -> float:
    return min(1.0, nextafter(number * delta, inf)) if delta > 0.0 else 0.0


def local_privacy(
    epsilon: float,
    what: Literal["symbol", "number"],
    *,
    own: Point,
    proof: Point,
    finite_precision_delta: float = 0.0,
) -> Guarantee:
    """Return the promise of a release that stands alone and needs no model.

    `own` is what the mechanism does not cover besides what none of them does.
    """
    return Guarantee(
        notion="ldp",
        epsilon=epsilon,
        delta=0.0,
        per="release",
        neighbours=Neighbours("stream", what, "replaced"),
        adversary=ANY_PRIOR,
        accounting=(),
        trust=RAW_VALUES_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(ARRIVALS, own, REFUSED, SECRET),
        proof=proof,
        finite_precision_delta=finite_precision_delta,
    )


CONTRIBUTIONS = Neighbours("person", "contribution", "replaced-or-none")
"""Let what a person contributes be anything else, or nothing."""
PRESENCE = Neighbours("person", "contribution", "presence")
"""Let a contribution be there or not; to replace it by another one is two changes."""
