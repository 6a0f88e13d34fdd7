"""The same bytes for one row and for many, in any order, and whatever the CPU can do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.mechanism import Array
from fugu.operators.sip.integer_law import IntegerLaw, SharesLaw
from fugu.operators.sip.kernels import SymbolLaw
from tests.operators import fixed_run
from tests.operators.sip import dense
from tests.operators.sip.beliefs import random_beliefs
from tests.operators.sip.choices import KERNELS


def bytes_of_rows(law: SymbolLaw) -> list[list[bytes]]:
    """Everything that is computed from each belief: charge, words, law and a posterior."""
    symbols, rows = law.belief.shape
    assert isinstance(law, IntegerLaw | SharesLaw)
    columns: list[Array] = [law.charge[None], law.ratio[None]]
    columns += [law.weights(np.full(rows, x)) for x in range(symbols)]
    columns += [law.probabilities(np.full(rows, x)) for x in range(symbols)]
    columns.append(law.posterior(law.probabilities(np.zeros(rows, dtype=int)).argmax(axis=0)))
    return [[column[:, row].tobytes() for column in columns] for row in range(rows)]


@settings(max_examples=60)
@given(
    symbols=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    epsilon=st.floats(1e-3, 15.0),
    data=st.data(),
)
def test_a_row_has_the_same_bytes_whichever_rows_are_with_it(
    symbols: int, seed: int, epsilon: float, data: st.DataObject
) -> None:
    belief = random_beliefs(np.random.default_rng(seed), symbols, 20)
    together = bytes_of_rows(dense.bounded_law(belief, epsilon))
    chosen = data.draw(st.lists(st.integers(0, 19), min_size=1, max_size=19, unique=True))
    subset = np.ascontiguousarray(belief[:, chosen])
    apart = bytes_of_rows(dense.bounded_law(subset, epsilon))
    assert apart == [together[row] for row in chosen]


@settings(max_examples=25)
@given(
    name=st.sampled_from(sorted(KERNELS)),
    symbols=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    epsilon=st.floats(1e-3, 15.0),
    data=st.data(),
)
def test_so_it_has_with_every_kernel(
    name: str, symbols: int, seed: int, epsilon: float, data: st.DataObject
) -> None:
    belief = random_beliefs(np.random.default_rng(seed), symbols, 4)
    together = bytes_of_rows(dense.law_of(KERNELS[name], belief, epsilon))
    chosen = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True))
    subset = np.ascontiguousarray(belief[:, chosen])
    apart = bytes_of_rows(dense.law_of(KERNELS[name], subset, epsilon))
    assert apart == [together[row] for row in chosen]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_a_prediction_has_the_same_bytes_whichever_rows_are_with_it(
    seed: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.permutations(range(20)))[: data.draw(st.integers(1, 20))]
    for mechanism in (*fixed_run.mechanisms(), *fixed_run.other_chains()):
        rng, model = np.random.default_rng(seed), mechanism.model
        belief = random_beliefs(rng, len(model.start), 20)
        posterior = model.marginal(belief) * rng.uniform(0.1, 10.0, (model.symbols, 20))
        some = np.ascontiguousarray(belief[:, chosen])
        apart = [model.marginal(some), model.advance(some, posterior[:, chosen]), model.skip(some)]
        whole = [model.marginal(belief), model.advance(belief, posterior), model.skip(belief)]
        for one, together in zip(apart, whole, strict=True):
            assert one.tobytes() == np.ascontiguousarray(together[:, chosen]).tobytes()
