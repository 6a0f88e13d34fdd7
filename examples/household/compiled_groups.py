"""PeGaSus for one series, compiled by numba, as `compiled_rules` has the others."""

from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers
from fugu.operators.wevent.pegasus import LONGEST

DEVIATION, RELEASE, THRESHOLD = 0, 1, 2


@part
def _noise(numbers: Integers, prices: Integers, draw: int) -> int:
    one, other = numbers[draw]
    return int(one // prices[draw] - other // prices[draw])


@entry_point
def pegasus(
    values: Integers,
    numbers: Integers,
    prices: Integers,
    reach: int,
    figures: Integers,
    ordered: Integers,
    released: Integers,
) -> None:
    """Release medians of groups. `prices` are those of the three draws of a tick; `figures` and
    `ordered`, the noisy ones in order, have room for the longest group."""
    size, is_open, threshold = 0, False, 0
    for tick in range(len(values)):
        value = values[tick]
        joins = False
        if is_open:
            total, apart = value, 0
            for place in range(size):
                total += figures[place]
            for place in range(size):
                apart += abs((size + 1) * figures[place] - total)
            apart += abs((size + 1) * value - total)
            joins = apart // (size + 1) + _noise(numbers[tick], prices, DEVIATION) < threshold
        if not is_open:
            threshold = reach + _noise(numbers[tick], prices, THRESHOLD)
        size = size if joins else 0
        noisy, place = value + _noise(numbers[tick], prices, RELEASE), size
        while place > 0 and ordered[place - 1] > noisy:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place], figures[size] = noisy, value
        is_open = (joins or not is_open) and size + 1 < LONGEST
        size += 1
        released[tick] = (ordered[(size - 1) // 2] + ordered[size // 2]) // 2
