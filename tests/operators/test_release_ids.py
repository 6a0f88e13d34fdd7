"""Release ids: public names that tell apart what must be told apart, and nothing more."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.randomness import DrawScope, Secret

SCOPE = DrawScope(Secret(bytes(range(32))), "pipeline", "operator", 1, bytes(32))


def ids(
    scope: DrawScope = SCOPE, *, purpose: str = "release", topic: str = "topic", partition: int = 0
) -> list[bytes]:
    return list(scope.release_ids(purpose, topic, partition, range(50)))


def test_every_offset_has_an_id_of_its_own() -> None:
    names = SCOPE.release_ids("release", "topic", 0, range(20_000))
    assert len(set(names)) == 20_000
    assert {len(name) for name in names} == {32}
    assert all(set(name) <= set(b"0123456789abcdef") for name in names[:100])


@settings(max_examples=200)
@given(st.lists(st.integers(0, 60), max_size=20), st.data())
def test_an_id_does_not_depend_on_how_offsets_are_batched(
    offsets: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(offsets)))
    known = dict(zip(range(61), SCOPE.release_ids("release", "topic", 0, range(61)), strict=True))
    head = SCOPE.release_ids("release", "topic", 0, offsets[:cut])
    tail = SCOPE.release_ids("release", "topic", 0, offsets[cut:])
    assert [*head, *tail] == [known[offset] for offset in offsets]


@pytest.mark.parametrize(
    "other",
    [
        ids(partition=1),
        ids(topic="topi"),
        ids(purpose="dead letter"),
        ids(replace(SCOPE, version=2)),
        ids(replace(SCOPE, operator="other")),
        ids(replace(SCOPE, pipeline="other")),
        ids(replace(SCOPE, secret=Secret(bytes(32)))),
    ],
    ids=["partition", "topic", "purpose", "version", "operator", "pipeline", "secret"],
)
def test_another_place_has_other_ids(other: list[bytes]) -> None:
    assert not set(other) & set(ids())


def test_another_law_keeps_the_ids() -> None:
    assert ids(replace(SCOPE, law=bytes([1]) * 32)) == ids()
