"""The guarantee of temporal mechanisms: a bound on the law of one delay, and on no more."""

from fugu.operators.budget_units import exact_exp
from fugu.operators.guarantee import (
    KEYED_HASH,
    REFUSED,
    SECRET,
    STREAMS_INDEPENDENT,
    Guarantee,
    Neighbours,
    Point,
)

LONGEST_EPOCH = 2**32
"""Bound the ticks of an epoch, over which the errors of draws are added up."""
_ONE_DELAY = (
    "an adversary who sees the release tick of one value alone: this is no bound on inference from "
    "values, from knowledge of other records, or at stream start and end"
)
ONE_DELAY = Point("one-delay", _ONE_DELAY)
ONE_VISIBLE_DELAY = Point(
    "one-visible-delay", _ONE_DELAY.replace("alone", "alone, if it is not overwritten")
)
NOT_A_SWAP = Point(
    "swap",
    "two values that change places: some releases are then impossible, so that no epsilon bounds "
    "what an adversary learns from all releases together, and this is not TLDP in the paper's "
    "sense (its Definition 2.2)",
)
KNOWN_SLOTS = Point(
    "known-slots",
    "an adversary who knows which ticks are reserved (the original ticks of other values): it may "
    "learn with certainty that a value was not delayed",
)
EMPTY_IS_DROPPED = Point(
    "empty-is-dropped", "an empty release says exactly that the value of this tick was dropped"
)
EMPTY_IS_UNCHOSEN = Point(
    "empty-is-unchosen", "an empty release says that no value chose this tick"
)
REPEATS = Point(
    "repeats", "a value that is published twice says much about its tick, and at best everything"
)
COOL_DOWN = Point(
    "cool-down", "the {ticks:,} ticks after the last value of an epoch (its cool-down)"
)
RANDOM_COOL_DOWN = Point(
    "random-cool-down",
    "the {ticks:,} ticks after the last value of an epoch (its cool-down), at which what waits "
    "leaves in random order, up to {late:,} ticks after it came",
)
_WARM_UP = Point("warm-up", "the first {ticks:,} ticks of an epoch (its warm-up)")
_PUBLISHED_WARM_UP = Point(
    "published-warm-up",
    "the first {ticks:,} ticks of an epoch (its warm-up), which is published: a first release is "
    "the first value",
)
_STEADY = Point(
    "steady-state",
    "steady state: neither warm-up nor cool-down, and at most {ticks:,} ticks in an epoch",
)
_STEADY_TO_THE_END = Point(
    "steady-to-the-end", "steady state: no warm-up, and at most {ticks:,} ticks in an epoch"
)
_RATIO = Point(
    "ratio-of-delays",
    "in steady state the probabilities of any two delays differ by at most a factor "
    "exp(epsilon / 2) = {factor:.4g}",
)
_TICKS_SEEN = Point(
    "ticks-seen",
    "the pipeline and its state see raw values; readers of the sanitized topic do not see which "
    "tick a value came from",
)
_NOT_COVERED = (
    Point(
        "inference",
        "inference from the values: an adversary who knows a model of the series recovers more "
        "delays; a monotone series, counters, meters, and payloads with a timestamp or a sequence "
        "number give all of them away",
    ),
    Point(
        "values",
        "the values themselves, which values there are and how often, the number and time of "
        "ticks, and which key they carry (a pseudonym at most): another value that does not occur "
        "elsewhere changes the output with certainty",
    ),
    Point(
        "second-release",
        "a second release of the same series (a restart with new randomness, another topic): "
        "privacy losses compose and windows intersect, so publish a source and key once",
    ),
    Point(
        "known-gaps",
        "an adversary who knows at which ticks there was no record: the empty releases that stand "
        "for them are values with a label",
    ),
    REFUSED,
    SECRET,
)


def delay_guarantee(
    *,
    k: int,
    epsilon: float,
    not_covered: tuple[Point, ...],
    proof: Point,
    finite_precision_delta: float,
    adversary: Point = ONE_DELAY,
    warm_up_published: bool = False,
    cool_down: Point | None = None,
    sound: bool = True,
) -> Guarantee:
    """Return a bound on the law of one delay, G1; `not_covered` comes before what no kind covers.

    Source: TLDP specification, section 6.
    """
    warm_up = _PUBLISHED_WARM_UP if warm_up_published else _WARM_UP
    ends = (warm_up.of(ticks=k - 1), *(() if cool_down is None else (cool_down,)))
    return Guarantee(
        notion="delay-law",
        epsilon=epsilon,
        delta=0.0,
        per="release",
        neighbours=Neighbours("stream", "tick", "delayed", reach=k - 1),
        adversary=adversary,
        accounting=(_RATIO.of(factor=exact_exp(epsilon / 2.0)),),
        trust=_TICKS_SEEN,
        assumptions=(
            (_STEADY_TO_THE_END if cool_down is None else _STEADY).of(ticks=LONGEST_EPOCH),
            STREAMS_INDEPENDENT,
            KEYED_HASH,
        ),
        not_covered=(NOT_A_SWAP, *not_covered, *ends, *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta,
        sound=sound,
    )


def delta_of(epsilon: float, total_variation: float) -> float:
    """Return what an error of the law costs in p_a <= e^(epsilon / 2) p_b + delta."""
    return min(1.0, (1.0 + exact_exp(epsilon / 2.0)) * total_variation)
