"""The guarantee of Swellfish privacy, with the wording that its specification asks for."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.sentences import (
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SECRET,
    TIMES_OF_RECORDS,
)

_PUBLISHED = {
    "repeat": "the last release is repeated",
    "exact": "the true figures are published, without noise",
}


def interval_guarantee(
    *,
    epsilon: float,
    draws: int,
    ticks: int,
    tick_milliseconds: int,
    irrelevant: str | float,
    composition: str,
    proof: str,
) -> Guarantee:
    """Return Swellfish privacy of `epsilon` nats per relevance interval.

    `draws`: how many draws of a tick meet data that differ between neighbours, at most; `ticks`:
    how many of them the longest relevance interval has. Source: Swellfish specification, section
    1.2 (guarantee, corrected; what users must be told).
    """
    return Guarantee(
        notion="swellfish",
        epsilon=epsilon,
        delta=0.0,
        per="interval",
        tick_milliseconds=tick_milliseconds,
        neighbours=Neighbours("person", "contribution", "stated"),
        relative_to=(
            "an attacker with no knowledge of how the ticks of a person depend on each other, who "
            "knows the policies, everybody else, and what the person does outside the interval"
        ),
        composition=(
            f"{composition}; a combination of secrets that c relevance intervals cover is "
            "protected with c times epsilon, and all secrets of a stream together without a bound"
        ),
        trust=EXACT_SUMS_SEEN,
        assumptions=(
            "policies are no function of the data, and say how far a contribution can change",
            f"no policy that is added later has relevance intervals of more than {ticks} ticks: "
            "the delta of a longer one is larger in proportion",
            "a person has at most one contribution to a tick, which is clamped, and one collection "
            "of policies; every tick is released at most once",
            KEYED_HASH,
        ),
        not_covered=(
            f"ticks at which no policy of anybody is relevant: {_published(irrelevant)}",
            "what a person does beyond the thresholds of the own policies, and at ticks at which "
            "only policies of others are relevant",
            "whether a person is in the stream at all: when records arrive, how many there are, "
            "and which of them arrive late",
            TIMES_OF_RECORDS,
            "the policies themselves: they are public, and so is how much noise they cause, when",
            "an occurrence that was stated too late: it must be known before it begins, and before "
            "any interval begins that it overlaps",
            CORRELATION,
            "a second mechanism over the same people: budgets add",
            SECRET,
        ),
        proof=proof,
        finite_precision_delta=finite_precision_delta(epsilon, TOTAL_VARIATION, ticks * draws),
    )


def _published(irrelevant: str | float) -> str:
    if isinstance(irrelevant, str):
        return _PUBLISHED[irrelevant]
    return (
        f"they have noise for a whole contribution and {irrelevant:g} nats each, which is no "
        "promise about any policy, and adds up without end"
    )
