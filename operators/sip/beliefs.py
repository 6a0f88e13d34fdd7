"""Beliefs that come from a stored state: are they sound, and what do their rounding errors cost?

A belief in doubles is not the exact posterior. Errors do not pile up, because the chain forgets
them, and what is left of them is charged together with each leakage (SIP specification, section 4).
"""

import numpy as np

from operators.mechanism import Floats, Integers
from operators.nats import charge_of_ratio, exact_exp, units_of
from operators.sip.markov_model import SUM_TOLERANCE, ordered_sum

_UNIT_ROUNDOFF = 2.0**-53


def checked_belief(rows: Floats) -> Floats:
    """The beliefs as `(states, rows)`; a belief that is not a distribution is a damaged state."""
    belief = np.ascontiguousarray(rows.T)
    total = ordered_sum(belief)
    sound = (np.abs(total - 1.0) <= SUM_TOLERANCE) & (belief >= 0.0).all(axis=0)
    if not sound.all():
        raise ValueError(f"the belief of row {int(np.argmin(sound))} is not a distribution")
    return belief


def rounding_charge(epsilon: float, roundings: int, forgetting_ratio: float) -> int | None:
    """Units by which rounding may raise the leakage of a law that is `epsilon`-private in doubles.

    A step errs by so many relative `roundings`, and the chain contracts what came before
    (`Chain.forgetting_ratio`), so beliefs stay within `distance` in total variation of the exact
    posterior. (Errors of a relative e, two distributions apart by 2 e in Hilbert's distance, add up
    to 2 e (R + 1) over pairs of steps, and 2 e more; total variation is at most a quarter of that.
    A prediction without a release, in a gap or for a skipped position, is a step like any other.)
    The leakage grows by at most -ln(1 - 2 sinh(epsilon) distance). None: there is no such bound,
    and twice the leakage, which needs no belief, has to be charged instead.
    """
    distance = roundings * _UNIT_ROUNDOFF * (forgetting_ratio + 1.0)
    growth = exact_exp(epsilon)
    loss = (growth - 1.0 / growth) * distance
    if loss >= 0.5:
        return None
    return int(charge_of_ratio(np.array([1.0 / (1.0 - loss)]))[0])


def charge_of_leakage(ratio: Floats, rounding: int | None) -> Integers:
    """What a leakage of ln(ratio) costs with its rounding charge; what leaks nothing is free."""
    leaked = charge_of_ratio(ratio)
    if rounding is None:
        return 2 * leaked
    return np.where(leaked > 0, leaked + rounding, 0)


def largest_charge(epsilon: float, rounding: int | None) -> int:
    """No leakage of at most `epsilon` costs more; one unit for rounding the logarithm up."""
    bound = units_of(epsilon) + 1
    return 2 * bound if rounding is None else bound + rounding
