"""Noise is a function of secret, context and data: it repeats itself, and never anything else."""

from bisect import bisect_right
from collections.abc import Callable
from hashlib import blake2b

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.gaussian_table import table
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, record_positions
from tests.operators import word_layout
from tests.operators.noise import derivation

LAPLACE = LaplaceNoise(1000, 1.0, 0, 1000)
GAUSSIAN = GaussianNoise(1000, 500.0, 0, 1000)
LAPLACE_POINTS = [[-10183333, -26890760], [46964480, 33224953]]
GAUSSIAN_POINTS = [[-2383, -18967], [-5311, 43464]]
VALUES = np.array([[3, 0], [500, 1000]])


def scope(
    key: int = 0,
    pipeline: str = "p",
    operator: str = "o",
    version: int = 1,
    law: bytes = bytes(32),
    key_epoch: int = 0,
) -> DrawScope:
    secret = Secret(bytes([key]) * 32)
    return DrawScope(secret, pipeline, operator, version, law, key_epoch)


def draws(
    of: DrawScope | None = None,
    keys: tuple[bytes, bytes] = (b"alice", b"bob"),
    offsets: tuple[int, int] = (7, 8),
) -> KeyedDraws:
    return (of or scope()).draws(keys, record_positions("topic", 0, offsets))


def test_points_are_pinned() -> None:
    assert LAPLACE.add(VALUES, draws()).tolist() == LAPLACE_POINTS
    assert GAUSSIAN.add(VALUES, draws()).tolist() == GAUSSIAN_POINTS


def expected_words(row: int, coordinate: int, binding: bytes, count: int) -> list[int]:
    return [
        word_layout.word(
            key=bytes(32),
            key_epoch=0,
            pipeline="p",
            operator="o",
            version=1,
            law=bytes(32),
            stream_key=[b"alice", b"bob"][row],
            position=word_layout.record_position("topic", 0, [7, 8][row]),
            purpose="release",
            coordinate=coordinate,
            binding=binding,
            index=index,
        )
        for index in range(count)
    ]


def binding_of(index: list[int], parameters: list[int]) -> bytes:
    bound_to = b"".join(map(word_layout.number, parameters))
    fields = [*map(word_layout.number, index), word_layout.sized(bound_to)]
    return blake2b(b"".join(fields), digest_size=32).digest()


def test_laplace_points_are_those_of_the_documented_layout() -> None:
    constants = derivation.thresholds(24)
    for row, values in enumerate(VALUES.tolist()):
        index = [(2 * value * 2**24 + 1000) // 2000 for value in values]
        binding = binding_of(index, [1000, 2**24, 1, 24])
        for coordinate in range(2):
            zero, sign, *digits = expected_words(row, coordinate, binding, 32)
            magnitude = 1 + sum(2**j for j, word in enumerate(digits) if word < constants.digits[j])
            noise = 0 if zero < constants.zero else -magnitude if sign >> 63 else magnitude
            assert LAPLACE_POINTS[row][coordinate] == index[coordinate] + noise


def test_gaussian_points_are_those_of_the_documented_layout() -> None:
    for row, values in enumerate(VALUES.tolist()):
        index = [(2 * value * 2**15 + 1000) // 2000 for value in values]
        binding = binding_of(index, [1000, 2**15, 1, 14])
        for coordinate in range(2):
            word, sign = expected_words(row, coordinate, binding, 2)
            magnitude = bisect_right(table().tolist(), word)
            noise = -magnitude if sign >> 63 else magnitude
            assert GAUSSIAN_POINTS[row][coordinate] == index[coordinate] + noise


def test_the_same_data_at_the_same_position_get_the_same_noise() -> None:
    for noise in (LAPLACE, GAUSSIAN):
        assert noise.add(VALUES, draws()).tolist() == noise.add(VALUES, draws()).tolist()


@pytest.mark.parametrize(
    "other",
    [
        lambda: LAPLACE.add(VALUES, draws(scope(key=1))),
        lambda: LAPLACE.add(VALUES, draws(scope(pipeline="q"))),
        lambda: LAPLACE.add(VALUES, draws(scope(operator="q"))),
        lambda: LAPLACE.add(VALUES, draws(scope(version=2))),
        lambda: LAPLACE.add(VALUES, draws(scope(law=bytes(31) + b"1"))),
        lambda: LAPLACE.add(VALUES, draws(scope(key_epoch=1))),
        lambda: LAPLACE.add(VALUES, draws(keys=(b"carol", b"dave"))),
        lambda: LAPLACE.add(VALUES, draws(offsets=(9, 10))),
        lambda: LAPLACE.add(VALUES, draws(), purpose="dissimilarity"),
        lambda: LAPLACE.add(VALUES[:, ::-1], draws())[:, ::-1],
        lambda: LaplaceNoise(1000, 1.0 + 2.0**-24, 0, 1000).add(VALUES, draws()),
        lambda: LaplaceNoise(1001, 1.0, 0, 1000).add(VALUES, draws()),
    ],
    ids=[
        "secret",
        "pipeline",
        "operator",
        "version",
        "law",
        "key epoch",
        "stream key",
        "position",
        "purpose",
        "order",
        "epsilon",
        "sensitivity",
    ],
)
def test_whatever_changes_in_the_context_changes_the_noise(other: Callable[[], Integers]) -> None:
    assert (other() != LAPLACE.add(VALUES, draws())).all()


def test_a_grid_with_another_step_gets_other_noise_even_for_the_same_index() -> None:
    """Sensitivity, s and M are the same for one and for two changed coordinates; the step is not.

    If the noise were the same too, equal points would say that the indices are equal, and so that
    the value is close to zero.
    """
    values, two = np.array([[3, 0], [0, 3]]), LaplaceNoise(1000, 1.0, 0, 1000, coordinates=2)
    assert two.index_sensitivity == LAPLACE.index_sensitivity
    assert two.grid.step != LAPLACE.grid.step
    assert (two.grid.index(values) == LAPLACE.grid.index(values)).all()
    assert (two.add(values, draws()) != LAPLACE.add(values, draws())).all()


def test_coordinates_of_the_same_value_get_different_noise() -> None:
    for noise in (LAPLACE, GAUSSIAN):
        assert len(set(noise.add(np.zeros((2, 50), dtype=np.int64), draws())[0].tolist())) == 50


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_other_data_at_the_same_position_get_independent_noise(
    noise: LaplaceNoise | GaussianNoise,
) -> None:
    rows = 5000
    keys, positions = [b"key"] * rows, record_positions("topic", 0, range(rows))
    one, other = np.full(rows, 500), np.full(rows, 501)
    first = noise.add(one, scope().draws(keys, positions)) - noise.grid.index(one)
    second = noise.add(other, scope().draws(keys, positions)) - noise.grid.index(other)
    assert (first != second).mean() > 0.99
    assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / np.sqrt(rows)


def test_one_changed_coordinate_changes_the_noise_of_all() -> None:
    changed = VALUES + np.array([[1, 0], [0, -1]])
    noise = LAPLACE.add(VALUES, draws()) - LAPLACE.grid.index(VALUES)
    other = LAPLACE.add(changed, draws()) - LAPLACE.grid.index(changed)
    assert (noise != other).all()


def test_rows_get_the_same_noise_alone_and_together() -> None:
    together = LAPLACE.add(VALUES, draws())
    positions = record_positions("topic", 0, [7, 8])
    for row, key in enumerate([b"alice", b"bob"]):
        alone = LAPLACE.add(VALUES[row : row + 1], scope().draws([key], [positions[row]]))
        assert alone[0].tolist() == together[row].tolist()


def test_no_rows_get_no_noise() -> None:
    for values in (np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.int64)):
        assert LAPLACE.add(values, scope().draws([], [])).shape == values.shape
