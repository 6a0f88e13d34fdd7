"""The guarantee of Swellfish privacy: Swellfish specification, section 1.2."""

from fugu.operators.guarantee import (
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SAME_PEOPLE,
    SECRET,
    TIMES_OF_RECORDS,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION

_POLICIES_KNOWN = Point(
    "policies-known",
    "an adversary who knows the policies, everybody else, and what the person does outside the "
    "interval, but not how the ticks of a person depend on each other",
)
_ASSUMPTIONS = (
    Point(
        "policies-public",
        "policies are no function of the data, and say how far a contribution can change",
    ),
    Point(
        "one-contribution",
        "a person has at most one contribution to a tick, which is clamped, and one collection of "
        "policies; every tick is released at most once",
    ),
    KEYED_HASH,
)
_REPEATED = Point(
    "irrelevant-repeated",
    "ticks at which no policy of anybody is relevant: the last release is repeated",
)
_EXACT = Point(
    "irrelevant-exact",
    "ticks at which no policy of anybody is relevant: the true figures are published, without "
    "noise",
)
_NOISY = Point(
    "irrelevant-noisy",
    "ticks at which no policy of anybody is relevant: they have noise for a whole contribution and "
    "{nats:.6g} nats each, which is no promise about any policy, and unbounded under sequential "
    "composition",
)
_NOT_COVERED = (
    Point(
        "beyond-thresholds",
        "what a person does beyond the thresholds of the own policies, and at ticks at which only "
        "policies of others are relevant",
    ),
    Point(
        "presence",
        "whether a person is in the stream at all: when records arrive, how many there are, and "
        "which of them arrive late",
    ),
    TIMES_OF_RECORDS,
    Point(
        "policies-seen",
        "the policies themselves: they are public, and so is how much noise they cause, when",
    ),
    Point(
        "stated-late",
        "an occurrence that was stated too late: it must be known before it begins, and before any "
        "interval begins that it overlaps",
    ),
    CORRELATION,
    SAME_PEOPLE,
    SECRET,
)


def interval_guarantee(
    *,
    epsilon: float,
    draws: int,
    ticks: int,
    tick_milliseconds: int,
    irrelevant: str | float,
    accounting: Point,
    proof: Point,
) -> Guarantee:
    """Return Swellfish privacy of `epsilon` nats per relevance interval.

    `draws`: how many draws of a tick meet data that differ between neighbours, at most; `ticks`:
    how many of them the longest relevance interval has, also of policies that are added later: a
    change with a longer one is refused. Source: Swellfish specification, section
    1.2 (guarantee, corrected; what users must be told).
    """
    return Guarantee(
        notion="swellfish",
        epsilon=epsilon,
        delta=0.0,
        per="interval",
        tick_milliseconds=tick_milliseconds,
        neighbours=Neighbours("person", "contribution", "stated"),
        adversary=_POLICIES_KNOWN,
        accounting=(accounting,),
        trust=EXACT_SUMS_SEEN,
        assumptions=_ASSUMPTIONS,
        not_covered=(_published(irrelevant), *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta(epsilon, TOTAL_VARIATION, ticks * draws),
    )


def _published(irrelevant: str | float) -> Point:
    if isinstance(irrelevant, str):
        return _EXACT if irrelevant == "exact" else _REPEATED
    return _NOISY.of(nats=irrelevant)
