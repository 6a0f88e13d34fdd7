"""Strategies of aggregates, configured to be tried and tested on."""

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.registry.example import EPSILONS, Example, Kind
from fugu.operators.wevent.binary_tree import BinaryTree
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.cap import Cap
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.flags import Flags, Markov, Released, Schedule
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.sample import Sample
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.uniform import Uniform
from fugu.operators.wevent.watched import Watched

_OFTEN = TemporalCorrelation.of([[0.7, 0.3], [0.4, 0.6]])
_COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])


def _strategy_examples(kind: type[Strategy]) -> tuple[Example, ...]:
    capped = kind(3, window=4, epsilon=1.0, sensitivity=1, cap=Cap(2**36, 2**37))
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=1), _COUNTS),
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), _COUNTS),
        Example(kind(1, window=1, epsilon=0.1, sensitivity=10**6), 10**7 * _COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=20.0, sensitivity=1), _COUNTS[:, 1:] - 200),
        Example(capped, _COUNTS),
        Example(Watched(capped, _OFTEN), _COUNTS),
    )


def _pba_examples(kind: type[PrivacyBudgetAllocation]) -> tuple[Example, ...]:
    sticky = ((0.9, 0.1), (0.1, 0.9))
    providers: list[Flags] = [
        Schedule((True,)),
        Schedule((False, True)),
        Markov(sticky, 0.9),
        Released(0.5),
    ]
    return (
        *_strategy_examples(kind),
        *(Example(kind(3, 5, 1.0, 1, flags=flags), _COUNTS) for flags in providers),
    )


def _fast_examples(kind: type[Fast]) -> tuple[Example, ...]:
    often = kind(3, 10, 5.0, 1, samples=9, process_variance=10.0, measurement_variance=1000.0)
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), _COUNTS),
        Example(often, _COUNTS),
        Example(
            kind(1, 1, 0.1, 10**6, cap=Cap(2**38, 2**35), contribution=10**6),
            10**7 * _COUNTS[:, :1],
        ),
    )


def _rescue_examples(kind: type[RescueDp]) -> tuple[Example, ...]:
    smooth = kind(2, window=5, epsilon=1.0, sensitivity=1, process_variance=0.5)
    return (*_strategy_examples(kind), Example(smooth, _COUNTS[:, 1:]))


def _tree_examples(kind: type[BinaryTree]) -> tuple[Example, ...]:
    return (
        Example(kind(3, window=1, epsilon=1.0, sensitivity=2, horizon=100), _COUNTS),
        Example(kind(1, window=7, epsilon=0.1, sensitivity=10**6, horizon=7), _COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=5.0, sensitivity=1, horizon=8), _COUNTS[:, 1:]),
    )


def _quantified_examples(kind: type[Quantified]) -> tuple[Example, ...]:
    nat = UNITS_PER_NAT
    return (
        Example(kind.for_leakage(_OFTEN, 0.5, bins=3, window=4, sensitivity=2), _COUNTS),
        Example(kind(3, 4, 2.0, 1, None, nat // 2, nat // 4, nat, horizon=9), _COUNTS),
    )


KINDS: Mapping[str, Kind] = {
    "binary_tree": Kind(BinaryTree, _tree_examples),
    "budget_absorption": Kind(BudgetAbsorption, _strategy_examples),
    "budget_distribution": Kind(BudgetDistribution, _strategy_examples),
    "fast": Kind(Fast, _fast_examples),
    "pba": Kind(PrivacyBudgetAllocation, _pba_examples),
    "quantified": Kind(Quantified, _quantified_examples),
    "rescue_dp": Kind(RescueDp, _rescue_examples),
    "sample": Kind(Sample, _strategy_examples),
    "uniform": Kind(Uniform, _strategy_examples),
}


_UNUSABLE_STRATEGY = {
    "bins": (0, -1, 2**17 + 1),
    "window": (0, -1, 10**5 + 1),
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "sensitivity": (0, -1, 2**44 + 1),
    "tick_milliseconds": (0, -1),
}


UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    Watched: {"factor": (0, -1, 3)},
    BinaryTree: {**_UNUSABLE_STRATEGY, "horizon": (0, -1, 2**16 + 1)},
    BudgetAbsorption: _UNUSABLE_STRATEGY,
    BudgetDistribution: _UNUSABLE_STRATEGY,
    Fast: {
        **_UNUSABLE_STRATEGY,
        "contribution": (0, -1, 2**44 + 1),
        "samples": (-1, 10**4 + 1),
        "process_variance": (0.0, -1.0, nan, inf),
        "measurement_variance": (0.0, -1.0, nan, inf),
    },
    PrivacyBudgetAllocation: _UNUSABLE_STRATEGY,
    Quantified: {
        **_UNUSABLE_STRATEGY,
        "first": (0, -1),
        "each": (0, -1),
        "last": (0, -1),
        "horizon": (0, -1),
    },
    RescueDp: {
        **_UNUSABLE_STRATEGY,
        "contribution": (0, -1, 2**44 + 1),
        "process_variance": (-1.0, nan, inf, 1e19),
    },
    Sample: _UNUSABLE_STRATEGY,
    Uniform: _UNUSABLE_STRATEGY,
}
