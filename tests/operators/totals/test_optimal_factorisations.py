"""Shipped buffers beside what no factorisation can beat, and beside offline optima.

Errors are root mean square errors of totals times the largest norm, as in `fitted_table`. For any
distribution of weights over ways in which one person may count, the nuclear norm of (totals) x
(ways) x (roots of weights) is a lower bound: with X = C'C, the least of tr(A'A / X) where all ways
u have u'Xu of at most 1 is at least its square. For everything at once the optimum among matrices
whose products are not negative is known: independent noise that falls (section 5).
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import minimize

from bench.figures.running_totals import tree_error
from fugu.operators.mechanism import Floats
from fugu.operators.realtime.account import falling
from fugu.operators.totals.buffers import decoding_column, participation
from fugu.operators.totals.fitted import fitted

WITHIN = 1.1


def shipped(ticks: int, counted: int) -> float:
    buffers = fitted(ticks, counted)
    squares = np.cumsum(decoding_column(buffers, ticks) ** 2)
    return sqrt(float(participation(buffers, ticks, counted)) * float(squares.mean()))


def bounds(ticks: int, counted: int) -> Iterator[float]:
    """Lower bounds, for weights that are made better and better."""
    starts = np.arange(ticks - counted + 1)
    after = np.arange(ticks)[:, None] - starts
    sums = np.clip(after + 1, 0, counted).astype(float)
    weights = np.full(len(starts), 1.0 / len(starts))
    for _ in range(10):
        left, lengths, right = np.linalg.svd(sums * np.sqrt(weights), full_matrices=False)
        yield float(lengths.sum()) / sqrt(ticks)
        weights = np.sqrt(weights) * np.einsum("ij,ij->j", sums, left @ right)
        weights = np.maximum(weights, 1e-12) / np.maximum(weights, 1e-12).sum()


class Toeplitz:
    """All lower-triangular Toeplitz matrices with ones on the diagonal; the rest is free."""

    def __init__(self, ticks: int, counted: int) -> None:
        self.ticks, self.counted = ticks, counted
        self.left = np.arange(ticks, 0, -1.0) / ticks

    def times(self, one: Floats, other: Floats, *, turned: bool = False) -> Floats:
        """A product of power series, or the derivative of one."""
        size = 2 * self.ticks
        second = np.fft.rfft(other, size)
        found = np.fft.rfft(one, size) * (np.conj(second) if turned else second)
        return np.asarray(np.fft.irfft(found, size)[: self.ticks])

    def inverse(self, column: Floats) -> Floats:
        """By Newton's iteration."""
        found, known = np.zeros(self.ticks), 1
        found[0] = 1.0
        while known < self.ticks:
            known = min(2 * known, self.ticks)
            rest = -self.times(column, found)
            rest[0] += 2.0
            rest[known:] = 0.0
            found = self.times(found, rest)
            found[known:] = 0.0
        return found

    def __call__(self, free: Floats) -> tuple[float, Floats]:
        """The logarithm of the error, with the first columns counted, and its derivative."""
        column = np.concatenate([[1.0], free])
        sums = np.cumsum(column)
        counted = sums.copy()
        counted[self.counted :] -= sums[: -self.counted]
        of_sums = 2.0 * counted
        of_sums[: -self.counted] -= 2.0 * counted[self.counted :]
        of_norm = np.cumsum(of_sums[::-1])[::-1] / (counted @ counted)
        inverse = self.inverse(column)
        noise = np.cumsum(inverse)
        squared = float(np.sum(self.left * noise * noise))
        of_inverse = np.cumsum((2.0 * self.left * noise)[::-1])[::-1]
        of_error = -self.times(of_inverse, self.times(inverse, inverse), turned=True) / squared
        value = 0.5 * (np.log(counted @ counted) + np.log(squared))
        return float(value), np.asarray(0.5 * (of_norm + of_error)[1:])

    def best(self) -> float:
        """A search may try what overflows; it goes back from there."""
        roots = np.cumprod([1.0, *((2 * j - 1) / (2 * j) for j in range(1, self.ticks))])
        with np.errstate(all="ignore"):
            found = [
                minimize(self, scale * roots[1:], jac=True, method="L-BFGS-B", options=_SEARCH)
                for scale in (1.0, 0.3)
            ]
        return float(np.exp(min(one.fun for one in found if np.isfinite(one.fun))))


_SEARCH = {"maxiter": 300, "maxcor": 20}


@pytest.mark.slow
@pytest.mark.parametrize(("ticks", "counted"), [(312, 1), (312, 24)])
def test_no_factorisation_errs_less_by_more_than_a_tenth(ticks: int, counted: int) -> None:
    best = max(bounds(ticks, counted))
    assert best <= shipped(ticks, counted) <= WITHIN * best


@pytest.mark.acceptance
def test_no_factorisation_of_1000_ticks_errs_less_by_more_than_a_tenth() -> None:
    """45.3 for windows of 24: the table has 49.6."""
    for counted in (1, 24):
        best = max(bounds(1000, counted))
        assert best <= shipped(1000, counted) <= WITHIN * best


@pytest.mark.acceptance
@pytest.mark.parametrize("ticks", [312, 1000, 10_000])
@pytest.mark.parametrize("counted", [1, 24])
def test_the_best_toeplitz_matrix_is_hardly_better(ticks: int, counted: int) -> None:
    """With as many free numbers as ticks, fitted offline."""
    best = Toeplitz(ticks, counted).best()
    assert 0.999 * best <= shipped(ticks, counted) <= 1.05 * best


@pytest.mark.parametrize("ticks", [312, 1000, 10_000])
def test_for_everything_even_noise_is_within_a_tenth_of_the_optimum(ticks: int) -> None:
    """The conditions of Karush, Kuhn and Tucker hold for falling noise, so that it is best: with X
    diagonal, no entry of A'A over products of roots exceeds those on the diagonal."""
    shares = np.array(falling(ticks))
    best = float(shares.sum()) / sqrt(ticks)
    few = np.arange(0, ticks, max(1, ticks // 100))
    squares = np.minimum.outer(ticks - few, ticks - few).astype(float)
    assert (squares / np.outer(shares[few], shares[few])).max() <= 1.0 + 1e-12
    assert best < shipped(ticks, ticks) <= 1.07 * best


def test_totals_of_10000_ticks_with_windows_of_24() -> None:
    """Issue 28: 67; noise on each tick would err 346, and a tree of Gaussian sums 195."""
    assert shipped(10_000, 24) == pytest.approx(67.8, abs=0.1)
    assert sqrt(24 * 10_001 / 2) == pytest.approx(346.4, abs=0.1)
    assert tree_error(10_000, 24) == pytest.approx(194.7, abs=0.1)
