"""The most that a promise lets one release tell about one value, and a whole life about any."""

from collections.abc import Sequence
from math import isfinite

from fugu.operators.guarantee import Guarantee

_WITHOUT_A_MODEL = ("ldp", "dp", "w-event-ldp", "w-event-dp")


def about_one_value(guarantees: Sequence[Guarantee]) -> float | None:
    """Return the nats of one release, or of a window that holds it; None where none are promised.

    A value changes into another one. Where only a contribution that comes or goes is covered, that
    is two changes. A promise with a delta of its own bounds no leakage.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> about_one_value(GeneralizedRandomizedResponse(2, epsilon=1.0).guarantees())
    1.0
    """
    for guarantee in guarantees:
        pure = guarantee.delta == 0.0 and guarantee.delta_per_release == 0.0
        bounded = guarantee.sound and isfinite(guarantee.epsilon) and pure
        if guarantee.notion in _WITHOUT_A_MODEL and bounded:
            return guarantee.epsilon * (2 if guarantee.neighbours.change == "presence" else 1)
    return None


def about_windows(guarantees: Sequence[Guarantee]) -> tuple[int, float] | None:
    """Return a number of ticks, or records, and the nats of any so many in a row; None where no
    promise is about windows."""
    for guarantee in guarantees:
        nats = about_one_value([guarantee])
        if guarantee.per == "window" and guarantee.window is not None and nats is not None:
            return guarantee.window, nats
    return None


def about_a_life(guarantees: Sequence[Guarantee]) -> float | None:
    """Return the same of all releases of a stream together; None where nothing limits them."""
    return about_one_value([one for one in guarantees if one.per == "stream"])
