"""The guarantee of temporal mechanisms: a bound on the law of one delay, and on no more."""

from fugu.operators.budget_units import exact_exp
from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.sentences import KEYED_HASH, SECRET

NOT_A_SWAP = (
    "two values that change places: some releases are then impossible, so that no epsilon bounds "
    "what a reader learns from all releases together, and this is not TLDP in the paper's sense "
    "(its Definition 2.2)"
)
KNOWN_SLOTS = (
    "a reader who knows which ticks are reserved (the original ticks of other values): it may "
    "learn with certainty that a value was not delayed"
)
EMPTY_IS_DROPPED = "an empty release says exactly that the value of this tick was dropped"
EMPTY_IS_UNCHOSEN = "an empty release says that no value chose this tick"
REPEATS = "a value that is published twice says much about its tick, and at best everything"

_NOT_COVERED = (
    "inference from the values: whoever knows a model of the series recovers more delays; a "
    "monotone series, counters, meters, and payloads with a timestamp or a sequence number give "
    "all of them away",
    "the values themselves, which values there are and how often, the number and time of ticks, "
    "and which key they carry (a pseudonym at most): another value that does not occur elsewhere "
    "changes the output with certainty",
    "a second release of the same series (a restart with new randomness, another topic): budgets "
    "add and windows intersect, so publish a source and key once",
    "a reader who knows at which ticks there was no record: the empty releases that stand for "
    "them are values with a label",
    "refused records: that they were refused is public",
    SECRET,
)


def delay_guarantee(
    *,
    k: int,
    epsilon: float,
    not_covered: tuple[str, ...],
    proof: str,
    finite_precision_delta: float,
    relative_to: str = "",
    warm_up_published: bool = False,
    cool_down: str | None = None,
    cools_down: bool = True,
    sound: bool = True,
) -> Guarantee:
    """Return a bound on the law of one delay, G1; `not_covered` comes before what no kind covers.

    Source: TLDP specification, section 6.
    """
    ends = (
        f"the first {k - 1} ticks of an epoch (its warm-up"
        f"{', which is published: a first release is the first value' if warm_up_published else ''}"
        ")"
    )
    if cools_down:
        ends += f" and {cool_down or f'the {k - 1} ticks after its last value (its cool-down)'}"
    steady = "neither warm-up nor cool-down" if cools_down else "no warm-up"
    return Guarantee(
        notion="delay-law",
        epsilon=epsilon,
        delta=0.0,
        per="release",
        neighbours=Neighbours("stream", "tick", "delayed", reach=k - 1),
        relative_to=(
            "what the release tick of one value alone reveals about its original tick"
            f"{relative_to}; it is not a bound on inference from values, from knowledge of other "
            "records, or at stream start and end"
        ),
        composition="nothing adds up: one release per source and key",
        trust="the pipeline and its state see raw values; readers of the sanitized topic do not "
        "see which tick a value came from",
        assumptions=(
            f"steady state: {steady}, and at most 2^32 ticks in an epoch",
            "streams of different keys are independent of each other",
            KEYED_HASH,
        ),
        not_covered=(NOT_A_SWAP, *not_covered, ends, *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta,
        sound=sound,
    )


def delta_of(epsilon: float, total_variation: float) -> float:
    """Return what an error of the law costs in p_a <= e^(epsilon / 2) p_b + delta."""
    return min(1.0, (1.0 + exact_exp(epsilon / 2.0)) * total_variation)
