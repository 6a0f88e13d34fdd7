"""FAST and RescueDP beside public code: the numbers of one run with noise that is a formula.

The numbers are those of streamdp-benchmark (`FAST_w`, one block, and `RescueDP1D`) at every sample.
Three things of what that code is given are ours. Its C_i is divided by T_i, as the specification
writes it. Figures of `fast` are so large in units that its rounding to whole numbers does not show.
And `rescue_dp` is told the variance of the figures, which that code takes from the true ones.
"""

from collections.abc import Callable

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.wevent.fast import Fast, FilteredStrategy
from fugu.operators.wevent.rescue_dp import RescueDp
from tests.operators.wevent.test_allocation import NAT

TICKS, UNIT = 180, 2**20
TICK = np.arange(TICKS)
FLAT = 1000 + TICK * 7919 % 23 - 11
JUMPING = 1000 + 300 * (TICK // 30 % 2) + TICK * 31 % 17
RISING = 400 + 5 * TICK + TICK * TICK % 13


def fast(figures: Integers) -> FilteredStrategy:
    return Fast(1, TICKS, 2.0, UNIT, samples=13, contribution=UNIT)


def rescue_dp(window: int) -> Callable[[Integers], FilteredStrategy]:
    def made(figures: Integers) -> FilteredStrategy:
        squared = float(np.var(figures)) * UNIT * UNIT
        return RescueDp(1, window, 1.5, UNIT, contribution=UNIT, process_variance=squared)

    return made


def estimates(strategy: FilteredStrategy, figures: Integers) -> dict[int, float]:
    """The estimate after each sample; the n-th has ((37 n) mod 41 - 20) / 10 times its scale."""
    state, found = strategy.start(1), dict[int, float]()
    for tick, figure in enumerate(figures.tolist()):
        spent = int(strategy.rule.offer(state, np.zeros(1, dtype=bool)).publication[0])
        noise, price = 0, spent // UNIT
        if spent:
            draw = ((len(found) + 1) * 37 % 41 - 20) / 10.0
            noise = round(draw * NAT / spent * UNIT) * price
        draws = ChosenNoise({"release": np.array([[noise]])})
        state, releases = strategy.step(state, Inputs(np.array([[figure * UNIT]])), draws)
        if releases.annotations["published"][0]:
            found[tick] = float(state["estimate"][0, 0]) / UNIT
    return found


FAST_FLAT = {
    0: 1011.1000,
    1: 1011.2638,
    2: 1011.8148,
    3: 1012.7827,
    4: 1008.6805,
    5: 1005.7769,
    9: 1002.2775,
    16: 998.3183,
    26: 993.5994,
    39: 987.5028,
    55: 1016.5307,
    73: 1013.4399,
    94: 1015.3287,
}
FAST_JUMPING = {
    0: 1022.1000,
    1: 1022.9007,
    2: 1022.8685,
    3: 1021.1398,
    4: 1017.6577,
    5: 1012.7539,
    9: 1006.8984,
    16: 997.3899,
    25: 993.3441,
    37: 1179.2688,
    47: 1276.2867,
    58: 1311.0216,
    71: 1119.8977,
}
FAST_RISING = {
    0: 422.1000,
    1: 422.1728,
    2: 422.7384,
    3: 424.3418,
    4: 424.3320,
    5: 426.5304,
    9: 431.4066,
    15: 448.0050,
    23: 479.9214,
    32: 518.7766,
    42: 594.7483,
    51: 642.6031,
    61: 690.8741,
}
RESCUE_FLAT = {
    0: 997.1753,
    1: 1002.2551,
    2: 1006.8902,
    3: 1011.6509,
    4: 1000.0470,
    5: 998.6021,
    12: 1001.4223,
    21: 994.7800,
    22: 995.6381,
    31: 992.8564,
    43: 996.7983,
    52: 1011.6688,
    53: 1001.9276,
    54: 1002.8012,
    62: 1009.1796,
    63: 996.7936,
    64: 996.1134,
    73: 991.0148,
    74: 992.1341,
    83: 989.2001,
    94: 1008.2730,
    95: 1015.9450,
    96: 1006.0476,
    97: 1006.4790,
    107: 1003.2023,
    116: 996.1408,
    117: 998.8893,
    120: 998.1398,
}
RESCUE_RISING = {
    0: 408.1753,
    1: 413.2445,
    2: 419.8161,
    3: 427.7415,
    4: 423.8837,
    5: 433.9312,
    6: 431.7641,
    11: 453.3919,
    12: 428.3959,
    13: 416.9883,
    14: 523.5584,
    15: 526.7021,
    16: 528.5586,
    19: 517.1321,
    20: 514.5794,
    23: 523.1306,
    24: 517.0408,
    25: 514.6121,
    29: 547.2182,
    30: 522.3814,
    31: 591.2482,
    32: 590.4493,
    33: 591.0165,
    36: 593.3975,
    45: 635.9876,
    46: 638.6940,
    47: 639.4580,
    53: 662.9897,
}


@pytest.mark.parametrize(
    ("made", "figures", "public", "apart"),
    [
        (fast, FLAT, FAST_FLAT, 1e-7),
        (fast, JUMPING, FAST_JUMPING, 1e-7),
        (fast, RISING, FAST_RISING, 1e-7),
        (rescue_dp(8), FLAT, RESCUE_FLAT, 1e-5),
        (rescue_dp(20), RISING, RESCUE_RISING, 1e-5),
    ],
    ids=["fast, flat", "fast, jumping", "fast, rising", "rescue_dp, flat", "rescue_dp, rising"],
)
def test_samples_and_estimates_are_those_of_public_code(
    made: Callable[[Integers], FilteredStrategy],
    figures: Integers,
    public: dict[int, float],
    apart: float,
) -> None:
    """`rescue_dp` counts shares of the budget in 2^-18, and so differs a little."""
    found = estimates(made(figures), figures)
    assert list(found)[: len(public)] == list(public)
    shown = [found[tick] for tick in public]
    assert shown == pytest.approx(list(public.values()), rel=apart)
