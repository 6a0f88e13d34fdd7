"""Words depend on everything that identifies a draw, on nothing else, and look uniform."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from fugu.operators.columns import binding_digest, encode_fields
from fugu.operators.mechanism import Draws, Words
from fugu.operators.randomness import (
    DrawScope,
    Secret,
    draws_of,
    integers_below,
    record_positions,
    unit_interval,
)

SCOPE = DrawScope(Secret(bytes(range(32))), "pipeline", "operator", 1, bytes(32), key_epoch=0)
REPEATABLE = settings(max_examples=300)

UNLIKELY = 1e-6
"""A sound generator fails one of the ten tests below with probability 1e-5; seeds are fixed."""

fields = st.lists(st.binary(max_size=12), max_size=4)


def words(
    scope: DrawScope = SCOPE,
    *,
    stream: bytes = b"alice",
    position: bytes = b"at",
    purpose: str = "release",
    binding: bytes = bytes(32),
) -> Words:
    return scope.draws([stream], [position]).words(purpose, [binding], coordinates=2, count=16)


@REPEATABLE
@given(fields, fields)
def test_different_fields_never_have_the_same_encoding(
    left: list[bytes], right: list[bytes]
) -> None:
    assert (encode_fields(*left) == encode_fields(*right)) == (left == right)


@REPEATABLE
@given(fields)
def test_an_encoding_can_be_read_back(original: list[bytes]) -> None:
    rest, read = encode_fields(*original), []
    while rest:
        size = int.from_bytes(rest[:4], "little")
        read.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    assert read == original


@REPEATABLE
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3, unique=True))
def test_different_integers_have_different_bindings(values: list[int]) -> None:
    assert len({binding_digest(value) for value in values}) == len(values)


@pytest.mark.parametrize("outside", [2**63, -(2**63) - 1])
def test_an_integer_of_more_than_64_bits_is_refused(outside: int) -> None:
    with pytest.raises(Exception, match=r"format requires|int too large"):
        encode_fields(outside)


CHANGES = {
    "secret": words(replace(SCOPE, secret=Secret(bytes(31) + b"\x01"))),
    "pipeline": words(replace(SCOPE, pipeline="pipelin")),
    "operator": words(replace(SCOPE, operator="operator ")),
    "configuration version": words(replace(SCOPE, version=2)),
    "law": words(replace(SCOPE, law=bytes(31) + b"\x01")),
    "key epoch": words(replace(SCOPE, key_epoch=1)),
    "stream key": words(stream=b"alicf"),
    "position": words(position=b"au"),
    "purpose": words(purpose="releasf"),
    "binding": words(binding=bytes(31) + b"\x01"),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_changing_a_field_changes_every_word(changed: str) -> None:
    assert not np.isin(CHANGES[changed], words()).any()


def test_no_two_contexts_share_a_word() -> None:
    everything = np.concatenate([drawn.ravel() for drawn in [words(), *CHANGES.values()]])
    assert len(np.unique(everything)) == len(everything) == 11 * 2 * 16


def test_the_same_context_gives_the_same_words() -> None:
    again = DrawScope(Secret(bytes(range(32))), "pipeline", "operator", 1, bytes(32))
    assert words(again).tobytes() == words().tobytes()


def test_a_row_draws_the_same_whoever_is_drawn_with_it() -> None:
    streams = [b"a", b"b", b"c"]
    positions = record_positions("topic", 0, [5, 6, 7])
    bindings = [binding_digest(x) for x in (1, 0, 1)]
    together = SCOPE.draws(streams, positions).words("w", bindings, coordinates=2, count=3)
    for row in range(3):
        alone = SCOPE.draws(streams[row : row + 1], positions[row : row + 1])
        assert (alone.words("w", bindings[row : row + 1], count=3)[0, 0] == together[row, 0]).all()


@pytest.mark.parametrize("coordinates", [1, 3])
@pytest.mark.parametrize("count", [1, 8, 9, 17])
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_words_have_one_axis_each_for_rows_coordinates_and_count(
    rows: int, count: int, coordinates: int
) -> None:
    draws = SCOPE.draws([b"key"] * rows, record_positions("t", 0, range(rows)))
    drawn = draws.words("w", [bytes(32)] * rows, coordinates=coordinates, count=count)
    assert drawn.shape == (rows, coordinates, count)
    assert drawn.dtype == np.uint64
    longer = draws.words("w", [bytes(32)] * rows, coordinates=coordinates + 1, count=count + 1)
    assert (longer[:, :coordinates, :count] == drawn).all()


def test_draws_need_a_key_and_a_position_for_every_row() -> None:
    with pytest.raises(ValueError, match="stream key must not be empty"):
        SCOPE.draws([b"a", b""], [b"0", b"1"])
    with pytest.raises(ValueError, match="one position for each stream key"):
        SCOPE.draws([b"a"], [b"0", b"1"])
    with pytest.raises(ValueError, match="one binding for each row"):
        SCOPE.draws([b"a"], [b"0"]).words("w", [])


def test_unit_interval_is_exact_and_below_one() -> None:
    some = np.array([0, 2**11 - 1, 2**11, 2**63, 2**64 - 1], dtype=np.uint64)
    exact = [0.0, 0.0, 2.0**-53, 0.5, 1.0 - 2.0**-53]
    assert unit_interval(some).tolist() == exact


@REPEATABLE
@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 2**32)), min_size=1, max_size=5)
)
def test_an_integer_below_a_limit_is_an_exact_product(pairs: list[tuple[int, int]]) -> None:
    words, limits = (list(column) for column in zip(*pairs, strict=True))
    drawn = integers_below(np.array(words, dtype=np.uint64), np.array(limits))
    assert drawn.tolist() == [word * limit >> 64 for word, limit in pairs]


def test_words_are_uniform_in_every_byte() -> None:
    rows = 4000
    draws = SCOPE.draws([b"key"] * rows, record_positions("t", 0, range(rows)))
    drawn = draws.words("w", [bytes(32)] * rows, count=8)
    lanes = drawn.reshape(-1).view(np.uint8).reshape(-1, 8)
    for lane in range(8):
        counts = np.bincount(lanes[:, lane], minlength=256)
        assert pvalue(counts) > UNLIKELY


def test_neighbouring_positions_are_independent() -> None:
    draws = SCOPE.draws([b"key"] * 16001, record_positions("t", 0, range(16001)))
    top = (draws.words("w", [bytes(32)] * 16001)[:, 0, 0] >> np.uint64(60)).astype(np.int64)
    assert pvalue(np.bincount(16 * top[:-1] + top[1:], minlength=256)) > UNLIKELY


def test_purposes_are_independent() -> None:
    draws = SCOPE.draws([b"key"] * 16000, record_positions("t", 0, range(16000)))
    left, right = (
        (draws.words(purpose, [bytes(32)] * 16000)[:, 0, 0] >> np.uint64(60)).astype(np.int64)
        for purpose in ("one", "other")
    )
    assert pvalue(np.bincount(16 * left + right, minlength=256)) > UNLIKELY


def pvalue(counts: Iterable[int]) -> float:
    return cast(float, chisquare(np.asarray(counts)).pvalue)


@dataclass(frozen=True)
class OtherDraws:
    """Draws of another kind, made of keyed ones."""

    draws: Draws

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        return self.draws.words(purpose, binding, coordinates=coordinates, count=count)


@pytest.mark.parametrize("chosen", [[0], [3, 1], [0, 1, 2, 3], []])
def test_some_rows_draw_the_words_that_they_draw_among_all(chosen: list[int]) -> None:
    draws = SCOPE.draws([b"a", b"b", b"c", b"d"], [b"1", b"2", b"3", b"4"])
    bindings = [b"for a", b"for b", b"for c", b"for d"]
    whole = draws.words("start", bindings, coordinates=2, count=9)
    rows = np.array(chosen, dtype=np.int64)
    its = [bindings[row] for row in chosen]
    for some in (draws_of(draws, rows, 4), draws_of(OtherDraws(draws), rows, 4)):
        words_of_some = some.words("start", its, coordinates=2, count=9)
        assert (words_of_some == whole[rows]).all()
        assert words_of_some.shape == (len(chosen), 2, 9)
