"""Names and positions of many records are those that each of them has by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.operators.byte_fields import encode_fields
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret

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


def test_tick_release_ids_are_those_of_the_layout() -> None:
    def tick_name(key: bytes, epoch: int, tick: int, *partition: int) -> bytes:
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

    ticks = [(b"ann", 0, 7), (b"", 2**40, 7), (b"ann", 0, 8)]
    keys, epochs, numbers = zip(*ticks, strict=True)
    ids = SCOPE.tick_release_ids("topic", keys, epochs, numbers)
    assert list(ids) == [tick_name(*one) for one in ticks]
    in_partition = SCOPE.tick_release_ids("topic", keys, epochs, numbers, partition=3)
    assert list(in_partition) == [tick_name(*one, 3) for one in ticks]
    assert list(SCOPE.tick_release_ids("topic", [], [], [])) == []


@given(st.lists(offsets), st.text(max_size=3))
def test_positions_are_their_fields(some: Sequence[int], topic: str) -> None:
    positions = record_positions(topic, 3, some)
    assert list(positions) == [encode_fields(topic, 3, offset) for offset in some]
    assert [positions[index] for index in range(len(some))] == list(positions)
