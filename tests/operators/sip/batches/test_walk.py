"""How far probabilities of batches are from the exact ones, in rational numbers."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import log, prod

import numpy as np
import pytest

from fugu.operators.sip.batches.batch_plan import BatchPlan
from fugu.operators.sip.batches.cluster_sequences import ClusterLaw
from fugu.operators.sip.batches.sequence_law import SequenceLaw
from fugu.operators.sip.batches.walk import Walk, doubts_of, forward_distance, product_distance
from fugu.operators.sip.distances import HAMMING
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF
from tests.operators.sip.batches.configured import ALGORITHMS
from tests.operators.sip.chains import moves, random_second_order
from tests.privacy.chains import random_chain

Exact = dict[tuple[int, ...], Fraction]


def missing(sums: list[float]) -> MarkovModel:
    """A chain whose rows miss the sum 1 by these numbers."""
    rows = random_chain(np.random.default_rng(4), len(sums)).transition.copy()
    rows[:, 0] += sums
    return MarkovModel(rows[0] - np.array([sums[0], *[0.0] * (len(sums) - 1)]), rows)


def exact(model: MarkovModel, window: int) -> Exact:
    """P(o) with the prior and each row divided by its exact sum."""
    prior, *rows = ([Fraction(p) for p in row] for row in [model.prior, *model.transition])
    divided = [[entry / sum(row) for entry in row] for row in (prior, *rows)]
    return {
        batch: divided[0][batch[0]]
        * prod(divided[1 + now][later] for now, later in pairwise(batch))
        for batch in product(range(model.symbols), repeat=window)
    }


def apart(computed: dict[tuple[int, ...], float], exactly: Exact) -> float:
    """Hilbert's distance, to far less than a rounding."""
    errors = [float(Fraction(p) / exactly[batch] - 1) for batch, p in computed.items()]
    return log((1.0 + max(errors)) / (1.0 + min(errors)))


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("sums", [[0.0, 0.0], [9e-13, -9e-13], [9e-13, -9e-13, 0.0]])
def test_products_are_within_the_bound(sums: list[float], window: int) -> None:
    """Rows that miss the sum 1 count: without their term the bound would be too small."""
    model = missing(sums)
    plan = BatchPlan(Walk(model), window, 1.0, HAMMING, "heuristic")
    law = ALGORITHMS["likely sequences"](plan).law(model.prior[:, None], np.zeros(1))
    assert isinstance(law, SequenceLaw)
    batches = product(range(model.symbols), repeat=window)
    computed = dict(zip(batches, law.prior[:, 0].tolist(), strict=True))
    distance = apart(computed, exact(model, window))
    assert distance <= product_distance(model, window)
    if window == 4 and sums[0]:
        assert distance > 100 * (2 * window + 4) * UNIT_ROUNDOFF


@pytest.mark.parametrize("sums", [[0.0, 0.0, 0.0], [9e-13, -9e-13, 0.0]])
def test_sums_over_groups_are_within_the_bound(sums: list[float]) -> None:
    model, window = missing(sums), 3
    plan = BatchPlan(Walk(model), window, 1.0, HAMMING, "heuristic")
    law = ALGORITHMS["coarse heuristic"](plan).law(model.prior[:, None], np.zeros(1))
    assert isinstance(law, ClusterLaw)
    groups = [tuple(digits) for digits in law.algorithm.digits.T.tolist()]
    exactly = dict.fromkeys(groups, Fraction(0))
    for batch, chance in exact(model, window).items():
        exactly[tuple(int(law.grouped[i, x, 0]) for i, x in enumerate(batch))] += chance
    computed = dict(zip(groups, law.prior[:, 0].tolist(), strict=True))
    assert apart(computed, exactly) <= forward_distance(model, window)


def summed_over_paths(model: Chain, steps: tuple[int, ...]) -> dict[tuple[int, ...], Decimal]:
    """P(o) in decimals: every row of the chain divided by its exact sum, every path followed."""
    rows: dict[int, dict[int, Decimal]] = {}
    for state, following, chance in moves(model):  # type: ignore[arg-type]
        row = rows.setdefault(state, {})
        row[following] = row.get(following, Decimal(0)) + chance
    divided = {s: {t: p / sum(row.values()) for t, p in row.items()} for s, row in rows.items()}
    last = model.symbol_of_state.tolist()
    prior = [Decimal(float(p)) for p in model.prior]
    at: dict[tuple[tuple[int, ...], int], Decimal] = {
        ((s,), s): p / sum(prior) for s, p in enumerate(prior)
    }
    for count in steps:
        for _ in range(count):
            after: dict[tuple[tuple[int, ...], int], Decimal] = {}
            for (batch, state), p in at.items():
                for following, chance in divided[state].items():
                    key = batch, following
                    after[key] = after.get(key, Decimal(0)) + p * chance
            at = after
        at = {((*batch, last[state]), state): p for (batch, state), p in at.items()}
    found: dict[tuple[int, ...], Decimal] = {}
    for (batch, _), p in at.items():
        found[batch] = found.get(batch, Decimal(0)) + p
    return found


@pytest.mark.parametrize("steps", [(1, 1, 1), (1, 60, 7)])
@pytest.mark.parametrize("seed", [1, 2])
def test_walks_are_within_their_bound(steps: tuple[int, ...], seed: int) -> None:
    """Of second order, with and without gaps."""
    model, window = random_second_order(2, 3, seed).model(), len(steps) + 1
    walk = Walk(model, longest=max(steps))
    plan = BatchPlan(walk, window, 1.0, HAMMING, "heuristic")
    law = ALGORITHMS["likely sequences"](plan).law(
        model.start[:, None], np.zeros(1), np.array(steps)[:, None]
    )
    assert isinstance(law, SequenceLaw)
    with localcontext() as context:
        context.prec = 50
        exactly = summed_over_paths(model, steps)
        ratios = [
            Decimal(p) / exactly[batch]
            for batch, p in zip(product(range(2), repeat=window), law.prior[:, 0], strict=True)
        ]
        distance = float((max(ratios) / min(ratios)).ln())
    assert 0.0 < distance <= walk.product_distance(window)


def test_a_belief_that_may_be_anywhere_has_infinite_doubt() -> None:
    assert np.isfinite(doubts_of(np.array([0.0, 0.125, 0.126]), 5)).tolist() == [True, True, False]
