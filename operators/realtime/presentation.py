"""Present estimates as numbers of the kind that readers expect; the filter never sees them."""

from typing import Literal, get_args

import numpy as np

from fugu.operators.mechanism import Array, Floats

Presentation = Literal["none", "integer", "non_negative"]


def require_presentation(presentation: Presentation) -> None:
    """Raise `ValueError` for a presentation that there is not."""
    if presentation not in get_args(Presentation):
        raise ValueError("presentation: must be none, integer or non_negative")


def presented(estimates: Floats, presentation: Presentation) -> Array:
    """Return estimates as they are published."""
    match presentation:
        case "integer":
            return np.rint(estimates).astype(np.int64)
        case "non_negative":
            return np.maximum(estimates, 0.0)
        case _:
            return estimates
