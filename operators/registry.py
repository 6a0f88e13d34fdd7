"""Every kind of mechanism by its name, with small configured examples to try and to test it on.

One line here brings a new mechanism under the conformance suite, and another one says which values
its parameters must refuse.

>>> sorted(KINDS)
['adaptive_crr', 'backward_perturbation', 'batched_crr', 'binary_tree', 'budget_absorption', \
'budget_distribution', 'cold_start_crr', 'crr', 'extended_threshold_perturbation', 'fast', \
'forward_perturbation', 'grr', 'laplace', 'oue', 'paper_crr', 'pba', 'quantified', 'sample', \
'threshold_perturbation', 'uniform']
>>> example = KINDS["crr"].examples()[0]
>>> example.mechanism.start(2)["spent"].tolist(), example.accepted.tolist()
([0, 0], [0, 1])
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from operators.budget import Budgeted
from operators.generalized_randomized_response import GeneralizedRandomizedResponse
from operators.laplace_release import LaplaceRelease
from operators.leakage.correlation import TemporalCorrelation
from operators.mechanism import Array, Mechanism
from operators.nats import UNITS_PER_NAT
from operators.optimized_unary_encoding import OptimizedUnaryEncoding
from operators.randomized_response import LARGEST_ALPHABET
from operators.sip.adaptive_release import AdaptiveRelease
from operators.sip.batched_release import BatchedRelease
from operators.sip.cold_start import ColdStart
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.distances import Ordered, Points
from operators.sip.gaps import Gaps
from operators.sip.markov_model import MarkovModel
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse
from operators.sip.second_order_model import SecondOrderModel
from operators.sip.sparse_markov_model import SparseMarkovModel
from operators.sip.sparse_rows import SparseRows
from operators.temporal.backward import BackwardPerturbation
from operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from operators.temporal.forward import ForwardPerturbation
from operators.temporal.random_lag import RandomLag
from operators.temporal.threshold import ThresholdPerturbation
from operators.wevent.allocation import Cap
from operators.wevent.binary_tree import BinaryTree
from operators.wevent.budget_absorption import BudgetAbsorption
from operators.wevent.budget_distribution import BudgetDistribution
from operators.wevent.fast import Fast
from operators.wevent.flags import Flags, Markov, Released, Schedule
from operators.wevent.pba import PrivacyBudgetAllocation
from operators.wevent.quantified import Quantified
from operators.wevent.sample import Sample
from operators.wevent.strategy import Strategy
from operators.wevent.uniform import Uniform


@dataclass(frozen=True)
class Example:
    """A configured mechanism, and a few input values that it accepts (first axis = value)."""

    mechanism: Mechanism
    accepted: Array


@dataclass(frozen=True)
class Kind:
    """A class of mechanisms, and how to configure a few of it, no two with the same law."""

    mechanism: type[Any]
    configure: Callable[[type[Any]], tuple[Example, ...]]

    def examples(self) -> tuple[Example, ...]:
        """Freshly configured each time."""
        return self.configure(self.mechanism)


def _sticky() -> MarkovModel:
    return MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)


def _markov_examples(kind: Callable[[MarkovModel, float], Mechanism]) -> tuple[Example, ...]:
    sticky = _sticky()
    cycle = MarkovModel.smoothed([0.7, 0.2, 0.1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0.2)
    only = MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)
    configured = [(sticky, 1.0), (sticky, 0.25), (cycle, 1.0), (cycle, 30.0), (only, 1.0)]
    return tuple(
        Example(kind(model, epsilon), np.arange(model.symbols)) for model, epsilon in configured
    )


def _sparse() -> SparseMarkovModel:
    rows = [({0: 0.9, 2: 0.1}, 0.0), ({2: 0.5}, 0.5), ({}, 1.0), ({0: 0.75, 3: 0.25}, 0.0)]
    return SparseMarkovModel(np.full(4, 0.25), SparseRows.smoothed(rows, 4, smoothing=0.01))


def _second_order() -> SecondOrderModel:
    after_one = [({0: 0.5, 1: 0.5}, 0.0), ({1: 0.6, 2: 0.2}, 0.2), ({0: 1.0}, 0.0)]
    after_two = [({2: 1.0}, 0.0), ({0: 0.1, 1: 0.8}, 0.1)]
    rows = SparseRows.smoothed([*after_one, *after_two], 3, smoothing=0.01)
    return SecondOrderModel(np.array([0.5, 0.3, 0.2]), np.array([[0, 1], [1, 1]]), rows)


def _crr_examples(kind: type[ConditionalRandomizedResponse]) -> tuple[Example, ...]:
    walk = MarkovModel.smoothed([0.5, 0.3, 0.2], 0.7 * np.eye(3) + 0.1, smoothing=0.05)
    places = Points(np.array([[0.0, 0.0], [0.5, 1.0], [4.0, 4.0]]))
    mechanism, sparse, second_order = (
        kind(model, epsilon=1.0) for model in (_sticky(), _sparse(), _second_order())
    )
    in_time = kind(walk, epsilon=1.0, gaps=Gaps(step_milliseconds=60_000, longest=5))
    others: list[ConditionalRandomizedResponse | Budgeted] = [
        in_time,
        Budgeted(in_time, total=4.0),
        Budgeted(in_time, total=2.5, window=4),
        Budgeted(mechanism, total=4.0),
        Budgeted(mechanism, total=2.5, window=4),
        kind(walk, 0.8, mode="full_support"),
        kind(walk, 0.8, Ordered()),
        kind(walk, 2.0, places),
        kind(walk, 0.8, Ordered(), kernel="linear_program"),
        sparse,
        second_order,
        Budgeted(second_order, total=4.0),
    ]
    return (
        *_markov_examples(kind),
        *(Example(other, np.arange(other.outcomes[0])) for other in others),
    )


def _batched_examples(kind: type[BatchedRelease]) -> tuple[Example, ...]:
    sticky, only = _sticky(), MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)
    walk = MarkovModel.smoothed([0.3, 0.3, 0.2, 0.1, 0.1], 0.8 * np.eye(5) + 0.04, 0.05)
    threes = kind(sticky, 3, 3.0, kernel="heuristic")
    two = np.arange(2)
    return (
        Example(kind(sticky, 2, 2.0), two),
        Example(threes, two),
        Example(kind(sticky, 1, 1.0, kernel="heuristic"), two),
        Example(kind(only, 2, 1.0), np.arange(1)),
        Example(kind(walk, 6, 12.0, kernel="heuristic"), np.arange(5)),
        Example(Budgeted(threes, total=6.0), two),
        Example(Budgeted(threes, total=3.5, window=5, when_exhausted="suppress"), two),
    )


def _laplace_examples(kind: type[LaplaceRelease]) -> tuple[Example, ...]:
    tenths = kind(lower=0, upper=1000, epsilon=1.0, units_per_one=10)
    sign = kind(lower=-1, upper=1, epsilon=0.1)
    wide = kind(lower=-(2**55), upper=2**55, epsilon=2.5)
    return (
        Example(tenths, np.array([0, 250, 725, 1000])),
        Example(sign, np.array([-1, 1, 7])),
        Example(wide, np.array([-(2**55), -3, 2**55 - 1])),
        Example(Budgeted(tenths, total=3.0), np.array([0, 725])),
    )


def _grr_examples(kind: type[GeneralizedRandomizedResponse]) -> tuple[Example, ...]:
    mechanisms = [kind(2, epsilon=1.0), kind(5, epsilon=0.1), kind(3, epsilon=30.0)]
    budgets = [Budgeted(kind(4, 0.5), total=2.0), Budgeted(kind(4, 0.5), total=1.0, window=4)]
    return (
        *(Example(grr, np.arange(grr.symbols)) for grr in mechanisms),
        *(Example(budgeted, np.arange(4)) for budgeted in budgets),
    )


def _oue_examples(kind: type[OptimizedUnaryEncoding]) -> tuple[Example, ...]:
    mechanisms = [
        kind(2, epsilon=1.0),
        kind(11, epsilon=0.1),
        kind(3, epsilon=30.0),
        kind(11, epsilon=0.1, output="symbol"),
    ]
    budgets = [
        Budgeted(kind(4, 0.5), total=2.0),
        Budgeted(kind(4, 0.5), total=1.0, window=4, when_exhausted="constant"),
        Budgeted(kind(4, 0.5, output="symbol"), total=2.0),
    ]
    return (
        *(Example(oue, np.arange(oue.symbols)) for oue in mechanisms),
        *(Example(budgeted, np.arange(4)) for budgeted in budgets),
    )


def _adaptive_examples(kind: type[AdaptiveRelease]) -> tuple[Example, ...]:
    cycle = MarkovModel.smoothed([0.7, 0.2, 0.1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0.2)
    only = MarkovModel.smoothed([1.0], [[1.0]], smoothing=0.0)
    right_or_wrong, apart = kind(_sticky(), 2.0, 1.0), kind(cycle, 0.7, 0.5, distance="steps")
    mechanisms: list[AdaptiveRelease | Budgeted] = [
        right_or_wrong,
        apart,
        kind(_sparse(), 1.0, 2.0),
        kind(_second_order(), 30.0, 30.0),
        kind(only, 1.0, 1.0),
        Budgeted(right_or_wrong, total=6.0),
        Budgeted(apart, total=1.5, window=4),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in mechanisms)


def _cold_start_examples(kind: type[ColdStart]) -> tuple[Example, ...]:
    two, three, never = (
        kind(symbols, epsilon, positions, when_short="accept")
        for symbols, epsilon, positions in ((2, 1.0, 2), (3, 2.0, 3), (4, 1.0, 200))
    )
    mechanisms: list[ColdStart | Budgeted] = [
        two,
        three,
        never,
        kind(2, 3.0),
        Budgeted(two, total=4.0),
        Budgeted(three, total=6.5, window=4),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in mechanisms)


_PAYLOADS = np.array([b"72", None, b"", b'{"rate":72,"zone":"light"}'], dtype=object)


def _lag_examples(kind: type[RandomLag]) -> tuple[Example, ...]:
    mechanisms = [
        kind(k=2, epsilon=1.0),
        kind(k=10, epsilon=4.0),
        kind(k=4, epsilon=2.0, warm_up="emit"),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


def _forward_examples(kind: type[ForwardPerturbation]) -> tuple[Example, ...]:
    visible = kind(k=5, epsilon=4.0, calibrate="visible", warm_up="emit")
    return (*_lag_examples(kind), Example(visible, _PAYLOADS))


def _threshold_examples(kind: type[ThresholdPerturbation]) -> tuple[Example, ...]:
    mechanisms = [
        kind(k=3, c0=2),
        kind.for_budget(k=5, epsilon=3.0),
        kind(k=5, c0=3, warm_up="emit"),
        kind(k=6, c0=2, start_mode="cold", warm_up="emit"),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


def _extended_examples(kind: type[ExtendedThresholdPerturbation]) -> tuple[Example, ...]:
    mechanisms = [
        kind.for_budget(k=5, epsilon=1.0),
        kind(k=4, c0=2, acceptance=0.5, warm_up="emit"),
        kind(k=4, c0=3, acceptance=1.0),
        kind(k=6, c0=4, acceptance=0.25, start_mode="cold", warm_up="emit"),
    ]
    return tuple(Example(one, _PAYLOADS) for one in mechanisms)


_COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])


def _strategy_examples(kind: type[Strategy]) -> tuple[Example, ...]:
    capped = kind(3, window=4, epsilon=1.0, sensitivity=1, cap=Cap(2**36, 2**37))
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=1), _COUNTS),
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), _COUNTS),
        Example(kind(1, window=1, epsilon=0.1, sensitivity=10**6), 10**7 * _COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=20.0, sensitivity=1), _COUNTS[:, 1:] - 200),
        Example(capped, _COUNTS),
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
        Example(kind(1, 1, 0.1, 10**6, cap=Cap(2**38, 2**35)), 10**7 * _COUNTS[:, :1]),
    )


def _tree_examples(kind: type[BinaryTree]) -> tuple[Example, ...]:
    return (
        Example(kind(3, window=1, epsilon=1.0, sensitivity=2, horizon=100), _COUNTS),
        Example(kind(1, window=7, epsilon=0.1, sensitivity=10**6, horizon=7), _COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=5.0, sensitivity=1, horizon=8), _COUNTS[:, 1:]),
    )


def _quantified_examples(kind: type[Quantified]) -> tuple[Example, ...]:
    nat, often = UNITS_PER_NAT, TemporalCorrelation.of([[0.7, 0.3], [0.4, 0.6]])
    return (
        Example(kind.for_leakage(often, 0.5, bins=3, window=4, sensitivity=2), _COUNTS),
        Example(kind(3, 4, 2.0, 1, None, nat // 2, nat // 4, nat, horizon=9), _COUNTS),
    )


KINDS: Mapping[str, Kind] = {
    "adaptive_crr": Kind(AdaptiveRelease, _adaptive_examples),
    "backward_perturbation": Kind(BackwardPerturbation, _lag_examples),
    "batched_crr": Kind(BatchedRelease, _batched_examples),
    "binary_tree": Kind(BinaryTree, _tree_examples),
    "budget_absorption": Kind(BudgetAbsorption, _strategy_examples),
    "budget_distribution": Kind(BudgetDistribution, _strategy_examples),
    "cold_start_crr": Kind(ColdStart, _cold_start_examples),
    "crr": Kind(ConditionalRandomizedResponse, _crr_examples),
    "extended_threshold_perturbation": Kind(ExtendedThresholdPerturbation, _extended_examples),
    "fast": Kind(Fast, _fast_examples),
    "forward_perturbation": Kind(ForwardPerturbation, _forward_examples),
    "grr": Kind(GeneralizedRandomizedResponse, _grr_examples),
    "laplace": Kind(LaplaceRelease, _laplace_examples),
    "oue": Kind(OptimizedUnaryEncoding, _oue_examples),
    "paper_crr": Kind(PaperConditionalRandomizedResponse, _markov_examples),
    "pba": Kind(PrivacyBudgetAllocation, _pba_examples),
    "quantified": Kind(Quantified, _quantified_examples),
    "sample": Kind(Sample, _strategy_examples),
    "threshold_perturbation": Kind(ThresholdPerturbation, _threshold_examples),
    "uniform": Kind(Uniform, _strategy_examples),
}

_EPSILONS = (0.0, -1.0, nan, inf)

_UNUSABLE_RESPONSE = {
    "symbols": (0, 1, -1, LARGEST_ALPHABET + 1),
    "epsilon": (*_EPSILONS, 50.1, 1e-20),
}

_UNUSABLE_LAG = {"k": (0, 1, -1, 2.5, 1001), "epsilon": (*_EPSILONS, 50.1, 1e-20)}
_UNUSABLE_THRESHOLD = {"k": (0, 2, -1, 3.5, 1001), "c0": (0, 1, -1, 1000), "epsilon": _EPSILONS}

_UNUSABLE_STRATEGY = {
    "bins": (0, -1, 2**15 + 1),
    "window": (0, -1, 10**5 + 1),
    "epsilon": (*_EPSILONS, 20.1, 1e-20),
    "sensitivity": (0, -1, 2**44 + 1),
}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    BinaryTree: {**_UNUSABLE_STRATEGY, "horizon": (0, -1, 2**16 + 1)},
    BudgetAbsorption: _UNUSABLE_STRATEGY,
    BudgetDistribution: _UNUSABLE_STRATEGY,
    Fast: {
        **_UNUSABLE_STRATEGY,
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
    Sample: _UNUSABLE_STRATEGY,
    Uniform: _UNUSABLE_STRATEGY,
    BatchedRelease: {"window": (0, -1, 33), "epsilon_per_batch": (*_EPSILONS, 50.1)},
    AdaptiveRelease: {
        "decision_epsilon": (*_EPSILONS, 50.1, 1e-20),
        "release_epsilon": (*_EPSILONS, 50.1),
    },
    ColdStart: {
        "symbols": (0, 1, -1, 17),
        "epsilon": (*_EPSILONS, 50.1, 1e-20),
        "positions": (-1, 2**20 + 1),
        "alpha": (0.0, -1.0, nan, inf),
    },
    Budgeted: {"total": (0.0, -1.0, nan, inf, 1e30), "window": (0, -1)},
    ConditionalRandomizedResponse: {"epsilon": (*_EPSILONS, 50.1)},
    GeneralizedRandomizedResponse: _UNUSABLE_RESPONSE,
    LaplaceRelease: {
        "lower": (2**60, -(2**62)),
        "upper": (-(2**60), 2**62),
        "epsilon": (*_EPSILONS, 20.1, 1e-8),
        "units_per_one": (0, -1, 10**12 + 1),
    },
    OptimizedUnaryEncoding: _UNUSABLE_RESPONSE,
    PaperConditionalRandomizedResponse: {"epsilon": (*_EPSILONS, 50.1)},
    BackwardPerturbation: _UNUSABLE_LAG,
    ForwardPerturbation: _UNUSABLE_LAG,
    ThresholdPerturbation: _UNUSABLE_THRESHOLD,
    ExtendedThresholdPerturbation: {
        **_UNUSABLE_THRESHOLD,
        "acceptance": (0.0, -1.0, 1.1, nan, inf, 1e-20),
    },
}
"""For every number that configures a mechanism, values that no example may be given instead."""
