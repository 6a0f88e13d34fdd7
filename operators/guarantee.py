"""Hold promises of configured mechanisms, as data; sentences are written from them elsewhere."""

from dataclasses import dataclass, field, replace
from math import inf, nextafter
from typing import Literal


@dataclass(frozen=True)
class PureLoss:
    """Lose at most `epsilon` nats, whatever is released."""

    epsilon: float

    def over(self, changes: int) -> "PureLoss":
        """Return the loss between inputs that are so many changes apart."""
        return PureLoss(nextafter(changes * self.epsilon, inf))


@dataclass(frozen=True)
class GaussianLoss:
    """Lose what discrete Gaussian noise with a deviation of 2^14 grid steps loses.

    `squares` is the most that neighbours differ by: the sum of the squares of all differences of
    their indices, in squared grid steps. It is that of a Gaussian mechanism whose ratio of
    sensitivity to deviation has the square squares / (2^28 - 9). At most `draws` indices differ;
    each adds the delta of a draw in finite precision (`noise.gaussian_table`).

    Source: continual release specification, section 4 (Theorems 3 and 4).
    """

    squares: int
    draws: int

    def over(self, changes: int) -> "GaussianLoss":
        """Return the loss between inputs that are so many changes apart."""
        return replace(self, squares=changes**2 * self.squares, draws=changes * self.draws)


@dataclass(frozen=True)
class WideGaussianLoss(GaussianLoss):
    """Lose what wide draws lose, whose steps are finer (`noise.wide_gaussian`).

    `squares` are those of draws of the usual deviation that lose as much. `draws` counts the parts
    of wide draws that may differ; each may move by any number of its own steps.

    Source: continual release specification, section 3 (wide draws).
    """


@dataclass(frozen=True)
class LaplaceLoss:
    """Lose what discrete Laplace noise on one number loses, moved by `shift` steps.

    A probability falls by a factor e^-rate with every step.

    Source: noise specification, section 3.
    """

    rate: float
    shift: int

    @property
    def epsilon(self) -> float:
        """Return the largest loss."""
        return self.rate * self.shift

    def over(self, changes: int) -> "LaplaceLoss":
        """Return the loss between inputs that are so many changes apart."""
        return LaplaceLoss(self.rate, changes * self.shift)


@dataclass(frozen=True)
class ResponseLoss:
    """Lose what a generalized randomized response among so many symbols loses.

    Source: SIP specification, section 9.
    """

    epsilon: float
    symbols: int

    def over(self, changes: int) -> PureLoss:
        """Return the loss between inputs that are so many changes apart, or more."""
        return PureLoss(self.epsilon).over(changes)


@dataclass(frozen=True)
class RepeatedLoss:
    """Lose at most `each` nats in every one of `number` releases, whatever was released before."""

    each: float
    number: int

    @property
    def epsilon(self) -> float:
        """Return the largest loss."""
        return self.each * self.number


@dataclass(frozen=True)
class StatedLoss:
    """Lose (epsilon, delta) and no more is known."""

    epsilon: float
    delta: float


BoundedLoss = PureLoss | LaplaceLoss | ResponseLoss
Loss = BoundedLoss | GaussianLoss | WideGaussianLoss | RepeatedLoss | StatedLoss


@dataclass(frozen=True)
class Point:
    """Name a point that a promise makes, and give its numbers; equal ones say the same.

    The sentence is for people. Its fields in braces are numbers, and its words may change.

    >>> longest = Point("longest-interval", "no interval has more than {ticks:,} ticks")
    >>> str(longest.of(ticks=1008))
    'no interval has more than 1,008 ticks'
    >>> longest.of(ticks=7) == Point("longest-interval", "at most {ticks} ticks").of(ticks=7)
    True
    """

    name: str
    sentence: str = field(compare=False)
    numbers: tuple[tuple[str, float], ...] = ()

    def of(self, **numbers: float) -> "Point":
        """Return the point with these numbers."""
        return replace(self, numbers=tuple(numbers.items()))

    def __str__(self) -> str:
        return self.sentence.format(**dict(self.numbers))


ANY_PRIOR = Point(
    "any-prior",
    "an adversary with any prior, and any knowledge of how values of the stream depend on each "
    "other (no model is used)",
)
OTHERS_KNOWN = Point(
    "others-known", "an adversary with any prior, and any knowledge about everybody else"
)

RAW_VALUES_SEEN = Point(
    "raw-values-seen",
    "the pipeline and its state see raw values; readers of the sanitized topic do not",
)
EXACT_SUMS_SEEN = Point(
    "exact-sums-seen",
    "the pipeline, its state and its partial sums see exact values; readers of the sanitized topic "
    "do not",
)

KEYED_HASH = Point("keyed-hash", "the keyed hash BLAKE2b is a pseudo-random function of the secret")
STREAMS_INDEPENDENT = Point(
    "streams-independent", "streams of different keys are independent of each other"
)

SECRET = Point("secret", "an adversary who obtains the secret, and so can remove all randomness")
ARRIVALS = Point(
    "arrivals",
    "when records arrive, how many there are, and which key they carry (a pseudonym at most)",
)
REFUSED = Point("refused", "refused records: that they were refused is public")
RANGE = Point(
    "range",
    "numbers beyond the declared range, which is public: they count as if they were at its border",
)
WHOLE_RECORDS = Point(
    "whole-records",
    "adding or removing whole records: when they arrive, how many there are, and which of them "
    "arrive late",
)
TIMES_OF_RECORDS = Point(
    "times-of-records",
    "the times of records: so many people together as move stream time (ticks.stream_time) decide "
    "which ticks close when, and whose records count",
)
CORRELATION = Point(
    "correlation",
    "an adversary who knows how the ticks of one person depend on each other, for example by a "
    "transition matrix: what such an adversary learns about one tick, or about a window, may "
    "exceed epsilon, and for some matrices it has no upper bound",
)
BEYOND_A_WINDOW = Point(
    "beyond-a-window",
    "what one person, or stream, does over more than a window: windows are unbounded under "
    "sequential composition",
)
BEYOND_A_PERIOD = Point(
    "beyond-a-period",
    "what one person does in any other stretch of time than one aligned period, which is counted "
    "from the beginning of 1970 (UTC): a stretch as long as a period meets two of them, so it "
    "costs twice as much, and longer ones more, without a bound",
)
SAME_PEOPLE = Point(
    "same-people",
    "another release about the same people (another pipeline, another statistic, several streams "
    "of one person, or one per group where a person can change groups): privacy losses compose",
)
DEPENDENT_OTHERS = Point(
    "dependent-others", "other people, or streams, whose data depend on those that are protected"
)
WINDOWS_INDEPENDENT = Point(
    "windows-independent",
    "an adversary with no knowledge of how one window of a person, or stream, depends on the "
    "others, but any other prior, and any knowledge about everybody else",
)
CLAMPED = Point(
    "clamped",
    "contributions beyond what they are clamped to: they count as if they were at the border",
)
CAPPED = Point(
    "personal-cap",
    "a person counts in at most {at_most:,} of the {ticks:,} ticks of an aligned period: further "
    "contributions are dropped, and nobody is told; the ticks that count may differ between "
    "neighbours, which is charged",
)
CAP_CHOSEN_IN_PUBLIC = Point(
    "cap-chosen-in-public",
    "the cap, its period and what contributions are clamped to were chosen without a look at the "
    "records that are protected",
)
ONE_GROUP = Point(
    "one-group-for-each-tick",
    "a contribution goes to one group and amounts to at most {units:,} units: contributions are "
    "clamped, and there is at most one for each person and tick",
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
