"""Names and positions of many records are those that each of them has by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.operators import compiled
from fugu.operators.columns import ByteColumn, encode_fields
from fugu.operators.randomness import DrawScope, Secret, record_positions

SECRET = Secret(bytes(range(32)))
SCOPE = DrawScope(SECRET, "pipeline", "operator", 1, bytes(32))

offsets = st.integers(0, 2**62) | st.integers(0, 40)


def name(offset: int) -> bytes:
    """From the layout: four neighbouring offsets share a block."""
    block, place = divmod(offset, 4)
    fields: list[bytes | str | int] = [
        "fugu-release-id-v1",
        "pipeline",
        "operator",
        1,
        "release",
        "topic",
        3,
        block,
    ]
    return SECRET.hasher(*fields).digest()[16 * place : 16 * place + 16].hex().encode()


@given(st.lists(offsets))
def test_release_ids_are_those_of_the_layout_in_any_order_and_with_gaps(
    some: Sequence[int],
) -> None:
    assert list(SCOPE.release_ids("release", "topic", 3, some)) == list(map(name, some))


@pytest.mark.parametrize("some", [range(0), range(1), range(3, 4), range(3, 14), range(8, 12)])
def test_release_ids_of_neighbours_are_those_of_the_layout(some: range) -> None:
    assert list(SCOPE.release_ids("release", "topic", 3, some)) == list(map(name, some))


def tick_name(key: bytes, epoch: int, tick: int, *partition: int) -> bytes:
    """From the layout."""
    fields: list[bytes | str | int] = [
        "fugu-tick-release-id-v1",
        "pipeline",
        "operator",
        1,
        "topic",
        *partition,
        key,
        epoch,
        tick,
    ]
    return SECRET.hasher(*fields).digest()[:16].hex().encode()


integers = st.integers(-(2**63), 2**63 - 1)
ticks_of_streams = st.tuples(st.binary(max_size=300), integers, integers)


@given(st.lists(ticks_of_streams, max_size=40))
def test_tick_release_ids_are_those_of_the_layout(ticks: list[tuple[bytes, int, int]]) -> None:
    keys = [key for key, _, _ in ticks]
    epochs, numbers = ([one[place] for _, *one in ticks] for place in range(2))
    expected = [tick_name(*one) for one in ticks]
    assert list(SCOPE.tick_release_ids("topic", keys, epochs, numbers)) == expected
    column = ByteColumn.of(keys)
    assert list(SCOPE.tick_release_ids("topic", column, epochs, numbers)) == expected
    expected = [tick_name(*one, 3) for one in ticks]
    assert list(SCOPE.tick_release_ids("topic", keys, epochs, numbers, partition=3)) == expected


def test_many_tick_release_ids_are_the_same_without_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def names() -> list[bytes]:
        keys, numbers = [b"%d" % number for number in range(1_000)], range(1_000)
        return list(SCOPE.tick_release_ids("topic", keys, [0] * 1_000, numbers))

    compiled_names = names()
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert names() == compiled_names == [tick_name(b"%d" % row, 0, row) for row in range(1_000)]


@given(st.lists(offsets), st.text(max_size=3))
def test_positions_are_their_fields(some: Sequence[int], topic: str) -> None:
    positions = record_positions(topic, 3, some)
    assert list(positions) == [encode_fields(topic, 3, offset) for offset in some]
    assert [positions[index] for index in range(len(some))] == list(positions)
