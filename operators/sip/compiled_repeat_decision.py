"""Decide whether the last release is still good enough, one stream at a time.

Good enough for a truth is what is at most `within` steps away from it. `likely` is the probability
of an answer that is true, and `unlikely` that of one that is not.
"""

import numpy as np

from fugu.operators.compiled.compiling import inlined, part
from fugu.operators.mechanism import Floats
from fugu.operators.sip.compiled_integer_law import Law, words_of
from fugu.operators.sip.integer_law import RATIO_UP
from fugu.operators.sip.privacy_bound import WORDS


@inlined
def is_near(symbol: int, last: int, within: float) -> bool:
    """Return whether the last release is good enough for a symbol."""
    return bool(abs(symbol - last) <= within)


@part
def answered(
    belief: Floats,
    last: int,
    within: float,
    repeats: bool,
    likely: float,
    unlikely: float,
    posterior: Floats,
) -> None:
    """Write the belief after the answer."""
    total = 0.0
    for x in range(len(belief)):
        agrees = is_near(x, last, within) == repeats
        posterior[x] = belief[x] * (likely if agrees else unlikely)
        total = posterior[x] if x == 0 else total + posterior[x]
    for x in range(len(belief)):
        posterior[x] /= total


@part
def answer_ratio(
    belief: Floats, last: int, within: float, likely: float, unlikely: float, doubt: float
) -> float:
    """Return e to the largest leakage of the answer, for every exact belief in doubt."""
    symbols, good_enough = len(belief), 0
    for x in range(symbols):
        if is_near(x, last, within):
            good_enough += 1
    worst = 1.0
    if good_enough == symbols:
        return worst
    if not doubt < np.inf:
        return np.inf
    for answer in (True, False):
        released, largest, smallest = 0.0, unlikely, likely
        for x in range(symbols):
            chance = likely if is_near(x, last, within) == answer else unlikely
            share = belief[x] * chance
            released = share if x == 0 else released + share
            largest, smallest = max(largest, chance), min(smallest, chance)
        upper = largest / (released * (1.0 - doubt))
        worst = max(worst, max(upper, released * (1.0 + doubt) / smallest))
    return worst * RATIO_UP


@part
def expected_steps(belief: Floats, law: Law) -> float:
    """Return E|x - y| of a release by the law."""
    symbols, expected = len(belief), 0.0
    for x in range(symbols):
        apart = 0.0
        if law.constant >= 0:
            apart = float(abs(law.constant - x))
        else:
            for y in range(symbols):
                weight = float(words_of(law, x, y)) / WORDS
                apart += weight * abs(y - x)
        expected += belief[x] * apart
    return expected
