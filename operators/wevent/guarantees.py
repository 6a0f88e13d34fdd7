"""What w-event strategies promise, and what they do not promise, in words.

Source: PBA specification, sections 1 (neighbours, streaming rules) and 6 (required wording).
"""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION

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
    "the times of records: so many people together as move stream time (ticks.stream_time) decide "
    "which ticks close when, and whose records count",
    "a second schedule over the same people (another pipeline, or one per group where a person "
    "can change groups): budgets add",
    "whoever obtains the secret can remove all randomness",
)


_TWICE = (
    "which contribution there is, where there is one: to replace it by another one is two such "
    "changes, and is protected with twice epsilon and (1 + e^epsilon) delta only",
)


def beyond(neighbours: Neighbours) -> tuple[str, ...]:
    """Return what the promise leaves open where it is about presence."""
    return _TWICE if neighbours.change == "presence" else ()


def window_guarantee(
    *,
    epsilon: float,
    window: int,
    bins: int,
    draws: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    composition: str,
    not_covered: tuple[str, ...] = (),
    proof: str,
    tick_by_tick: bool = True,
    largest: float | None = None,
) -> Guarantee:
    """`draws`: how many draws of a tick meet data that differ between neighbours, at most;
    `largest`: what one draw loses at most, in nats."""
    return Guarantee(
        notion="w-event-dp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        tick_by_tick=tick_by_tick,
        window=window,
        tick_milliseconds=tick_milliseconds,
        neighbours=neighbours,
        relative_to=(
            "an attacker with no knowledge of how the ticks of a person depend on each other; "
            "any prior, and any knowledge about everybody else"
        ),
        composition=composition,
        trust="the pipeline, its state and its partial sums see exact values; readers of the "
        "sanitized topic do not",
        assumptions=(
            f"one such change moves the {bins} bins of a tick by at most {sensitivity} units in "
            f"total, and at most {min(bins, neighbours.bins)} of them: contributions are "
            "clamped, and there is at most one for each person and tick",
            "the keyed hash BLAKE2b is a pseudo-random function of the secret",
        ),
        not_covered=(*not_covered, *beyond(neighbours), *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta(
            epsilon, TOTAL_VARIATION, window * draws, largest
        ),
    )
