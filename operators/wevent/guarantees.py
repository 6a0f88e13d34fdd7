"""The guarantee of w-event strategies, with the wording that the PBA specification asks for."""

from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.sentences import (
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
)

_NOT_COVERED = (
    CORRELATION,
    "what one person does over more than a window: budgets of all windows add up without end",
    WHOLE_RECORDS,
    TIMES_OF_RECORDS,
    "a second schedule over the same people (another pipeline, or one per group where a person "
    "can change groups): budgets add",
    SECRET,
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
    """Return w-event privacy of `epsilon` nats per `window` ticks.

    `draws`: how many draws of a tick meet data that differ between neighbours, at most; `largest`:
    what one draw loses at most, in nats. Source: PBA specification, sections 1 and 6.
    """
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
        trust=EXACT_SUMS_SEEN,
        assumptions=(
            f"one such change moves the {bins} bins of a tick by at most {sensitivity} units in "
            f"total, and at most {min(bins, neighbours.bins)} of them: contributions are "
            "clamped, and there is at most one for each person and tick",
            KEYED_HASH,
        ),
        not_covered=(*not_covered, *beyond(neighbours), *_NOT_COVERED),
        proof=proof,
        finite_precision_delta=finite_precision_delta(
            epsilon, TOTAL_VARIATION, window * draws, largest
        ),
    )
