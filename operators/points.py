"""Points that promises make: typed by name and numbers, each with a sentence for people."""

from dataclasses import dataclass, field, replace


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
