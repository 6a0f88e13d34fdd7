"""Compute what one release of unary encoding tells: its bits are independent of each other."""

from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.auditing.audited import Check
from fugu.operators.auditing.steps_as_drawn import bit_law
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Floats, Mechanism
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding

_MOST_SYMBOLS = 64


@dataclass(frozen=True, eq=False)
class ResponseLosses:
    """Hold the largest privacy loss of one release, `(inputs, inputs)`, and what was checked."""

    losses: Floats
    checks: tuple[Check, ...]


def response_losses(mechanism: Mechanism) -> ResponseLosses | None:
    """Return the losses of unary encoding of up to 64 symbols; None of anything else.

    Released bits are driven through the real step. A released symbol has the law that is declared.
    """
    inside = without_budget(mechanism)
    if not isinstance(inside, OptimizedUnaryEncoding) or inside.symbols > _MOST_SYMBOLS:
        return None
    if inside.output == "symbol":
        truth = np.eye(inside.symbols, dtype=bool)
        law = np.where(truth, inside.reported_if_true, inside.reported_if_other)
        return ResponseLosses(np.log(law[:, None] / law[None]).max(axis=2), ())
    found = bit_law(inside, inside.symbols, inside.symbols)
    about = "each bit is decided by a word of its own, which is compared with one threshold"
    return ResponseLosses(found.losses, (Check(about, found.independent),))
