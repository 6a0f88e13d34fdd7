"""Configurations that every strategy has, and the strategies that have no test module."""

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.wevent.allocation import Cap
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.spread_strategies import Uniform
from fugu.operators.wevent.strategy import Strategy, Watched
from tests.conformance.example import EPSILONS, Example, Examples, Unusable

ROWS = [[0.7, 0.3], [0.4, 0.6]]
CORRELATION = TemporalCorrelation.of(ROWS, backward=ROWS)
ANY_START = TemporalCorrelation.of([[0.99, 0.01], [0.7, 0.3]])
COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])
UNUSABLE_STRATEGY = {
    "bins": (0, -1, 2**17 + 1),
    "window": (0, -1, 10**5 + 1),
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "sensitivity": (0, -1, 2**44 + 1),
    "tick_milliseconds": (0, -1),
}


def strategies(kind: type[Strategy]) -> tuple[Example, ...]:
    capped = kind(3, window=4, epsilon=1.0, sensitivity=1, cap=Cap(2**36, 2**37))
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=1), COUNTS),
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), COUNTS),
        Example(kind(1, window=1, epsilon=0.1, sensitivity=10**6), 10**7 * COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=20.0, sensitivity=1), COUNTS[:, 1:] - 200),
        Example(capped, COUNTS),
        Example(Watched(capped, CORRELATION), COUNTS),
    )


def quantified(kind: type[Quantified]) -> tuple[Example, ...]:
    nat = UNITS_PER_NAT
    published = kind.for_leakage(ANY_START, 0.5, bins=3, window=4, sensitivity=2, horizon=9)
    return (
        Example(kind.for_leakage(ANY_START, 0.5, bins=3, window=4, sensitivity=2), COUNTS),
        Example(Watched(published, ANY_START), COUNTS),
        Example(kind(3, 4, 2.0, 1, None, nat // 2, nat // 4, nat, horizon=9), COUNTS),
    )


def uniform(kind: type[Uniform]) -> tuple[Example, ...]:
    cap = PersonalCap(3, 7, "rising", apart=2)
    capped = kind(3, window=3, epsilon=1.0, sensitivity=2, personal_cap=cap)
    signs = PersonalCap(2, 5, signed=True)
    signed = kind(3, window=2, epsilon=1.0, sensitivity=2, personal_cap=signs)
    return (*strategies(kind), Example(capped, COUNTS), Example(signed, COUNTS - 100))


EXAMPLES: Examples = {Quantified: quantified}
UNUSABLE: Unusable = {
    Watched: {"factor": (0, -1, 3)},
    Quantified: {
        **UNUSABLE_STRATEGY,
        "first": (0, -1),
        "each": (0, -1),
        "last": (0, -1),
        "horizon": (0, -1),
    },
}
