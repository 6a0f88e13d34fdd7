"""Buffers: the acceptance numbers of the specification, integer arithmetic and its roundings."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import ceil, sqrt

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.totals.buffers import (
    Buffers,
    TotalErrors,
    decoding_column,
    participation,
    root_above,
    root_below,
)
from fugu.operators.totals.buffers import product as scaled
from fugu.operators.totals.precision import Changes, scale_of

TEN_OF_1000 = Buffers((182185096, 115304809), (4165248134, 4282929292))
ACCEPTED = [
    (312, 1, 1, (1396214226, 604636038), (3399186373, 4249788738), 1.628048, 2.6865, 2.9906),
    (312, 20, 1, (1, 147795851), (379, 4254622483), 7.489695, 34.570, 40.500),
    (
        1000,
        1,
        1,
        (1191881833, 611875343, 305224029),
        (2840385667, 4119287722, 4282288999),
        1.743413,
        3.0511,
        3.3493,
    ),
    (
        1000,
        1,
        1,
        (1334869757, 518518791, 192501953),
        (3190060754, 4201849909, 4290472654),
        1.804490,
        3.1056,
        3.2699,
    ),
    (1000, 10, 1, TEN_OF_1000.weights, TEN_OF_1000.factors, 6.159114, 23.315, 26.247),
    (1000, 10, 100, (1105266861, 1074757344), (2481519990, 4216212312), 6.174926, 12.194, 15.187),
    (
        10000,
        1,
        1,
        (1422316815, 391989165, 114063294),
        (3542378366, 4255655679, 4293471622),
        1.937345,
        3.7999,
        4.1160,
    ),
    (
        10000,
        20,
        1,
        (27804, 99869125, 31553058),
        (14446, 4259390526, 4293507200),
        9.522377,
        57.060,
        63.265,
    ),
]


@pytest.mark.parametrize(
    ("ticks", "counted", "apart", "weights", "factors", "norm", "rms", "largest"), ACCEPTED
)
def test_norms_and_errors_are_those_of_the_specification(
    ticks: int,
    counted: int,
    apart: int,
    weights: tuple[int, ...],
    factors: tuple[int, ...],
    norm: float,
    rms: float,
    largest: float,
) -> None:
    buffers = Buffers(weights, factors)
    found = sqrt(participation(buffers, ticks, counted, apart))
    deviations = np.sqrt(TotalErrors(buffers, ticks, 1.0).variances[1:])
    assert found == pytest.approx(norm, abs=5e-7)
    assert found * sqrt((deviations**2).mean()) == pytest.approx(rms, rel=2e-5)
    assert found * deviations.max() == pytest.approx(largest, rel=2e-5)


@pytest.mark.parametrize("apart", [1, 2, 3])
@pytest.mark.parametrize("counted", [1, 2, 3, 4])
def test_the_first_columns_are_the_worst_of_all_patterns(counted: int, apart: int) -> None:
    """Theorem 2 by brute force, over every choice of at most so many ticks."""
    for ticks, buffers in product(
        (1, 5, 8), (TEN_OF_1000, Buffers((2**31, 2**30), (2**32 - 1, 7)))
    ):
        column = buffers.columns(ticks)
        worst = 0.0
        for number in range(1, min(counted, ceil(ticks / apart)) + 1):
            for chosen in combinations(range(ticks), number):
                if all(after - before >= apart for before, after in pairwise(chosen)):
                    mixed = np.zeros(ticks)
                    for tick in chosen:
                        mixed[tick:] += column[: ticks - tick]
                    worst = max(worst, float((mixed**2).sum()))
        found = float(participation(buffers, ticks, counted, apart))
        assert found == pytest.approx(worst, rel=1e-14)
        assert found >= worst * (1 - 1e-15)


def test_a_column_that_rises_has_no_worst_pattern_among_the_first() -> None:
    """Break the limit on weights: with c_1 above 1, later columns may be worse."""
    with pytest.raises(ValueError, match=r"^weights: "):
        Buffers((2**32, 1), (0, 0))


def test_products_are_those_of_unlimited_integers() -> None:
    numbers = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**62 - 1, -(2**62) + 1, 3**38, -(3**38)]
    for factor in (0, 1, 2**31, 2**32 - 1, 3**20 % 2**32):
        found = scaled(factor, np.array(numbers, dtype=np.int64)).tolist()
        assert found == [factor * number >> 32 for number in numbers]


def test_the_encoder_gives_the_vector_of_the_specification() -> None:
    changes = Changes(ticks=1000, counted=10, factor=2, amount=1, groups=6)
    scale = scale_of(TEN_OF_1000, changes, squares=112621999)
    assert (TEN_OF_1000.guard_bits, scale) == (10, 1238386)
    held, memory = np.zeros((1, 1, 2), dtype=np.int64), np.zeros((1, 1, 2))
    indices, totals, total = [], [], 0.0
    for tick in range(8):
        value = np.array([[(37 * tick * tick + 11 * tick) % 101]])
        index, held = TEN_OF_1000.encode(held, value, scale)
        indices.append(int(index[0, 0]))
        noise = 7919 * tick % 40001 - 20000
        decoded, memory = TEN_OF_1000.decode(memory, (index + noise).astype(np.float64))
        total += float(decoded[0, 0])
        totals.append(total / (scale / 2**10))
    assert indices == [0, 58049, 87467, 85912, 51090, 102900, 125449, 116412]
    expected = [-16.5377, 22.6180, 89.9124, 157.8393, 198.9373, 286.7879, 360.9309, 429.3857]
    assert totals == pytest.approx(expected, abs=5e-5)
    errors = TotalErrors(TEN_OF_1000, 1000, 2**14 / (scale / 2**10))
    deviations = np.sqrt(errors.variances[[1, 10, 100, 1000]])
    assert deviations == pytest.approx([13.55, 32.76, 44.66, 57.73], abs=0.01)
    assert sqrt(errors.of_difference(976, 1000)) == pytest.approx(45.5, abs=0.05)
    assert sqrt(errors.of_difference(500, 900)) == pytest.approx(62.2, abs=0.05)


def test_without_noise_decoded_totals_are_exact_but_for_roundings() -> None:
    scale, values = 1238386, np.random.default_rng(3).integers(0, 2000, 1000)
    held, memory = np.zeros((1, 1, 2), dtype=np.int64), np.zeros((1, 1, 2))
    total = 0.0
    for value, truth in zip(values, np.cumsum(values), strict=True):
        index, held = TEN_OF_1000.encode(held, np.array([[value]]), scale)
        decoded, memory = TEN_OF_1000.decode(memory, index.astype(np.float64))
        total += float(decoded[0, 0])
        assert total / (scale / 2**10) == pytest.approx(float(truth), abs=5e-3)


TOY = Buffers((2**31, 2**29 + 12345), (2**31 + 99, 2**32 - 2**28))
"""With noise of few steps roundings matter."""


def indices(worlds: Integers, buffers: Buffers, scale: int) -> Integers:
    """Indices of `worlds (worlds, ticks, groups)`, as the real encoder gives them."""
    count, _, groups = worlds.shape
    held = np.zeros((count, groups, len(buffers)), dtype=np.int64)
    found = []
    for values in worlds.transpose(1, 0, 2):
        index, held = buffers.encode(held, values, scale)
        found.append(index)
    return np.stack(found, axis=1)


def worlds_of_one(ticks: int, counted: int) -> Integers:
    said = np.array(list(product([(1, 0), (0, 1), (0, 0)], repeat=ticks)))
    few: Integers = said[(said != 0).any(axis=2).sum(axis=1) <= counted]
    return few


@pytest.mark.parametrize("others", [0, 1, 977])
def test_indices_of_neighbours_differ_by_no_more_than_is_charged(others: int) -> None:
    """All pairs of worlds of one person in 4 ticks and 2 groups, beside what others contribute."""
    changes = Changes(ticks=4, counted=2, factor=2, amount=1, groups=2)
    squares = 400
    scale = scale_of(TOY, changes, squares)
    worlds = worlds_of_one(4, 2) + others
    found = indices(worlds, TOY, scale).reshape(len(worlds), -1)
    apart = ((found[:, None] - found[None]) ** 2).sum(axis=2)
    assert apart.max() <= squares
    assert apart.max() > 0.6 * squares


def test_a_scale_without_room_for_roundings_would_be_too_large() -> None:
    """The attack on a claim that forgets the rounding term: some pair exceeds it."""
    changes = Changes(ticks=4, counted=2, factor=2, amount=1, groups=2)
    unit = participation(TOY, 4, 2)
    exceeded = 0
    for squares in range(50, 400, 7):
        root = root_below(Fraction(squares))
        careless = int(root * 2**TOY.guard_bits / root_above(2 * unit))
        assert careless > scale_of(TOY, changes, squares)
        for others in (0, 1, 2, 5, 977):
            worlds = worlds_of_one(4, 2) + others
            found = indices(worlds, TOY, careless).reshape(len(worlds), -1)
            apart = ((found[:, None] - found[None]) ** 2).sum(axis=2)
            exceeded += int(apart.max() > squares)
    assert exceeded > 0


def test_each_index_is_off_by_less_than_the_stated_rounding() -> None:
    rng, scale = np.random.default_rng(5), 10**6 + 7
    for buffers in (TOY, TEN_OF_1000):
        worlds = rng.integers(0, 2, (200, 60, 1)) + 500
        found = indices(worlds, buffers, scale)[..., 0]
        column = buffers.columns(60)
        mixed = np.stack([np.convolve(world, column)[:60] for world in worlds[..., 0]])
        exact = mixed * scale / 2**buffers.guard_bits
        apart = (found[:, None] - found[None]) - (exact[:, None] - exact[None])
        assert np.abs(apart).max() <= float(buffers.rounding)
        assert float(buffers.rounding) <= 1 + 2**-6


def test_the_decoding_column_undoes_the_mixing() -> None:
    mixing, decoding = TEN_OF_1000.columns(200), decoding_column(TEN_OF_1000, 200)
    assert np.convolve(mixing, decoding)[:200] == pytest.approx(np.ones(200), abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "factors"),
    [
        ((), ()),
        ((0,), (0,)),
        ((1, 2), (3,)),
        ((2**32,), (2**32,)),
        ((1,), (-1,)),
        ((1,) * 5, (1,) * 5),
    ],
)
def test_buffers_that_cannot_be_are_refused(
    weights: tuple[int, ...], factors: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"^(weights|factors)"):
        Buffers(weights, factors)
