"""Sparse rows: what is refused, what smoothing does, and sums in one order only."""

from collections.abc import Callable
from math import inf, nan

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows, gathered

CERTAIN: tuple[dict[int, float], float] = ({0: 1.0}, 0.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (({0: 0.5, 1: 0.6}, 0.0), "transition row 1: probabilities must sum to 1, they sum to 1.1"),
        (({0: 0.5}, 0.2), "transition row 1: probabilities must sum to 1, they sum to 0.7"),
        (({}, 0.0), "transition row 1: probabilities must sum to 1, they sum to 0"),
        (({0: 1.5, 2: -0.5}, 0.0), r"transition row 1: .* not be negative \(column 2\)"),
        (({0: 0.5, 2: nan}, 0.0), r"transition row 1: .* finite number \(column 2\)"),
        (({0: inf}, 0.0), r"transition row 1: .* finite number \(column 0\)"),
        (({0: 1.5}, -0.5), "transition row 1: what is spread must be in 0..1"),
        (({0: 0.5}, nan), "transition row 1: what is spread must be in 0..1"),
        (({0: 0.5, 3: 0.5}, 0.0), r"transition row 1, column 3: columns are 0\.\.2"),
        (({-1: 0.5, 0: 0.5}, 0.0), r"transition row 1, column -1: columns are 0\.\.2"),
    ],
)
def test_a_bad_row_is_refused_and_named_with_its_column(
    row: tuple[dict[int, float], float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SparseRows.smoothed([CERTAIN, row, CERTAIN], 3, smoothing=0.01)


def test_a_row_that_never_reaches_a_symbol_is_refused_without_smoothing() -> None:
    with pytest.raises(ValueError, match=r"transition row 1: has a zero \(column 2\); set smoo"):
        SparseRows.smoothed([({}, 1.0), ({0: 0.5, 1: 0.5, 2: 0.0}, 0.0)], 3, smoothing=0.0)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, nan])
def test_smoothing_outside_zero_to_one_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match="smoothing: must be at least 0 and below 1"):
        SparseRows.smoothed([CERTAIN], 1, smoothing)


@pytest.mark.parametrize(
    ("starts", "columns", "kept", "restart", "message"),
    [
        ([0, 1], [0], [1.0], [0.0, 0.0], "do not describe rows together"),
        ([0, 2, 1], [0], [1.0], [0.0, 0.0], "do not describe rows together"),
        ([0, 1, 1], [0], [1.0, 1.0], [0.0, 1.0], "do not describe rows together"),
        ([0, 2, 2], [1, 0], [0.5, 0.5], [0.0, 1.0], "row 0, column 0: columns must ascend"),
        ([0, 2, 2], [1, 1], [0.5, 0.5], [0.0, 1.0], "row 0, column 1: columns must ascend"),
        ([0, 1, 2], [0, 1], [0.5, 0.0], [0.5, 1.0], "row 1, column 1: must be a positive"),
        ([0, 1, 2], [0, 1], [0.5, 0.5], [0.5, 0.4], "transition row 1: must sum to 1"),
        ([0, 1, 2], [0, 1], [0.5, 0.5], [0.5, nan], "transition row 1: must sum to 1"),
    ],
)
def test_arrays_that_are_no_rows_are_refused(
    starts: list[int], columns: list[int], kept: list[float], restart: list[float], message: str
) -> None:
    arrays = [np.array(column) for column in (starts, columns, kept, restart)]
    with pytest.raises(ValueError, match=message):
        SparseRows(2, *arrays)


def test_a_chain_of_another_shape_is_refused() -> None:
    rows = SparseRows.smoothed([({}, 1.0)], 1, 0.0)
    with pytest.raises(ValueError, match="transition: has 1 rows, but there are 2 symbols"):
        SparseMarkovModel(np.full(2, 0.5), rows)


def test_smoothing_is_that_of_the_dense_chain() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 7):
        transition = rng.dirichlet(np.full(n, 0.3), n)
        given = [({v: float(p) for v, p in enumerate(row)}, 0.0) for row in transition]
        dense = MarkovModel.smoothed(np.full(n, 1 / n), transition, 0.02)
        rows = SparseRows.smoothed(given, n, 0.02)
        np.testing.assert_allclose(rows.dense(), dense.transition, rtol=1e-14)
        chain = SparseMarkovModel(dense.prior, rows)
        belief = rng.dirichlet(np.ones(n), 5).T
        np.testing.assert_allclose(chain.skip(belief), dense.skip(belief), rtol=1e-13)
        assert chain.forgetting_ratio >= dense.forgetting_ratio * (1 - 1e-12)


def test_rows_are_copies_and_cannot_be_changed() -> None:
    starts, columns = np.array([0, 1]), np.array([0])
    rows = SparseRows(1, starts, columns, np.ones(1), np.zeros(1))
    starts[1], columns[0] = 0, 5
    assert (rows.starts.tolist(), rows.columns.tolist()) == ([0, 1], [0])
    with pytest.raises(ValueError, match="read-only"):
        rows.kept[0] = 0.5


def in_order(weights: list[float]) -> float:
    total = 0.0
    for weight in weights:
        total += weight
    return total


@pytest.mark.parametrize("order", [np.arange, np.random.default_rng(6).permutation])
def test_entries_are_added_one_by_one_in_their_order(order: Callable[[int], Integers]) -> None:
    """To the last bit, in which the sum of 3,000 numbers depends on the order."""
    rng = np.random.default_rng(5)
    entries = 3000
    targets = rng.integers(3, size=entries)[order(entries)]
    sources = rng.integers(50, size=entries)
    weights, masses = rng.random(entries), rng.random((50, 4))
    found = gathered(masses, sources, weights, targets, 3)
    for target in range(3):
        chosen = np.flatnonzero(targets == target)
        for column in range(4):
            products = masses[sources[chosen], column] * weights[chosen]
            assert found[target, column] == in_order(products.tolist())


def test_a_column_has_the_same_bits_whichever_columns_are_with_it() -> None:
    """Also where so many columns are cut into several calls."""
    rng = np.random.default_rng(8)
    entries, columns = 20_000, 40
    sources, targets = rng.integers(500, size=(2, entries))
    weights, masses = rng.random(entries), rng.random((500, columns))
    together = gathered(masses, sources, weights, targets, 500)
    for chosen in ([0], [39], [3, 17, 4], list(range(20))):
        apart = gathered(masses[:, chosen], sources, weights, targets, 500)
        assert apart.tobytes() == np.ascontiguousarray(together[:, chosen]).tobytes()
