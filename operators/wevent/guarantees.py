"""What w-event strategies promise, and what they do not promise, in words.

Source: PBA specification, sections 1 (neighbours, streaming rules) and 6 (required wording).
"""

from operators.mechanism import Guarantee
from operators.noise.additive import finite_precision_delta
from operators.noise.unit_laplace import TOTAL_VARIATION

CORRELATION = (
    "an attacker who knows how the ticks of one person depend on each other, for example by a "
    "transition matrix: what such an attacker learns about one tick, or about a window, may exceed "
    "epsilon, and for some matrices it has no upper bound"
)
_NOT_COVERED = (
    CORRELATION,
    "what one person does over more than a window: budgets of all windows add up without end",
    "adding or removing whole records: when they arrive, how many there are, and which of them "
    "arrive late",
    "a second schedule over the same people (another pipeline, or one per group where a person "
    "can change groups): budgets add",
    "whoever obtains the secret can remove all randomness",
)


def window_guarantee(
    *,
    epsilon: float,
    window: int,
    bins: int,
    draws: int,
    sensitivity: int,
    composition: str,
    not_covered: tuple[str, ...] = (),
    proof: str,
) -> Guarantee:
    """`draws`: how many draws of a release meet data that differ between neighbours, at most."""
    return Guarantee(
        notion="w-event-dp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        protects=(
            f"what one person contributes within any {window} consecutive ticks, of which any part "
            "is replaced by another contribution or by none, while every record keeps its place "
            "and its timestamp"
        ),
        relative_to=(
            "an attacker with no knowledge of how the ticks of a person depend on each other; "
            "any prior, and any knowledge about everybody else"
        ),
        composition=composition,
        trust="the pipeline, its state and its partial sums see exact values; readers of the "
        "sanitized topic do not",
        assumptions=(
            f"one such replacement changes the {bins} bins of a tick by at most {sensitivity} "
            "units in total, and in at most two bins: contributions are clamped, and there is at "
            "most one for each person and tick",
            "the keyed hash BLAKE2b is a pseudo-random function of the secret",
        ),
        not_covered=(*not_covered, *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta(epsilon, TOTAL_VARIATION, draws),
    )
