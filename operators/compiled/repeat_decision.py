"""Is the last release still good enough? As `operators.sip.repeat_decision`, one stream at a time.

Good enough for a truth is what is at most `within` steps away from it. `likely` is the probability
of an answer that is true, and `unlikely` that of one that is not.
"""

from operators.compiled import hamming_law as law_of
from operators.compiled.compiling import inlined, part
from operators.mechanism import Floats


@inlined
def is_near(symbol: int, last: int, within: float) -> bool:
    """Whether the last release is good enough for a symbol."""
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
def answer_leakage_ratio(
    belief: Floats, last: int, within: float, likely: float, unlikely: float
) -> float:
    """e^IIL of the answer."""
    symbols, good_enough = len(belief), 0
    for x in range(symbols):
        if is_near(x, last, within):
            good_enough += 1
    worst = 1.0
    if good_enough == symbols:
        return worst
    for answer in (True, False):
        released, largest, smallest = 0.0, unlikely, likely
        for x in range(symbols):
            chance = likely if is_near(x, last, within) == answer else unlikely
            share = belief[x] * chance
            released = share if x == 0 else released + share
            largest, smallest = max(largest, chance), min(smallest, chance)
        worst = max(worst, max(largest / released, released / smallest))
    return worst


@part
def expected_steps(
    belief: Floats, law: Floats, gain: float, partial: int, weights: Floats
) -> float:
    """E|x - y| of a release by the law."""
    symbols, expected = len(belief), 0.0
    for x in range(symbols):
        total = 0.0
        for y in range(symbols):
            weights[y] = law_of.weight_of(law, gain, partial, x, y)
            total = weights[y] if y == 0 else total + weights[y]
        apart = 0.0
        for y in range(symbols):
            steps = weights[y] / total * abs(y - x)
            apart = steps if y == 0 else apart + steps
        expected += belief[x] * apart
    return expected
