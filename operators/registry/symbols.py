"""Mechanisms of symbols, configured to be tried and tested on."""

from collections.abc import Callable, Mapping
from math import inf, nan
from typing import Any

import numpy as np

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Mechanism
from fugu.operators.registry.example import EPSILONS, Example, Kind
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.responses.randomized_response import LARGEST_ALPHABET
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.gaps import Gaps
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel
from fugu.operators.sip.sparse_rows import SparseRows


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


KINDS: Mapping[str, Kind] = {
    "adaptive_crr": Kind(AdaptiveRelease, _adaptive_examples),
    "batched_crr": Kind(BatchedRelease, _batched_examples),
    "cold_start_crr": Kind(ColdStart, _cold_start_examples),
    "crr": Kind(ConditionalRandomizedResponse, _crr_examples),
    "grr": Kind(GeneralizedRandomizedResponse, _grr_examples),
    "oue": Kind(OptimizedUnaryEncoding, _oue_examples),
    "paper_crr": Kind(PaperConditionalRandomizedResponse, _markov_examples),
}


_UNUSABLE_RESPONSE = {
    "symbols": (0, 1, -1, LARGEST_ALPHABET + 1),
    "epsilon": (*EPSILONS, 50.1, 1e-20),
}


UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    BatchedRelease: {"window": (0, -1, 33), "epsilon_per_batch": (*EPSILONS, 50.1)},
    AdaptiveRelease: {
        "decision_epsilon": (*EPSILONS, 50.1, 1e-20),
        "release_epsilon": (*EPSILONS, 50.1),
    },
    ColdStart: {
        "symbols": (0, 1, -1, 17),
        "epsilon": (*EPSILONS, 50.1, 1e-20),
        "positions": (-1, 2**20 + 1),
        "alpha": (0.0, -1.0, nan, inf),
    },
    Budgeted: {"total": (0.0, -1.0, nan, inf, 1e30), "window": (0, -1)},
    ConditionalRandomizedResponse: {"epsilon": (*EPSILONS, 50.1)},
    GeneralizedRandomizedResponse: _UNUSABLE_RESPONSE,
    OptimizedUnaryEncoding: _UNUSABLE_RESPONSE,
    PaperConditionalRandomizedResponse: {"epsilon": (*EPSILONS, 50.1)},
}
