"""Digests of keys that are spent: found by their key, with numba or without."""

from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.state.spent_rows import SpentRows
from fugu.operators import compiled

KEYS = st.lists(st.binary(max_size=300), max_size=40, unique=True)


def spent_rows(keys: list[bytes]) -> SpentRows:
    nothing = SpentRows({"spent": np.zeros(0, dtype=np.int64)})
    return nothing.joined(keys, {"spent": np.arange(len(keys))})


@given(KEYS, KEYS)
def test_each_key_is_found_with_what_it_spent(keys: list[bytes], others: list[bytes]) -> None:
    rows = spent_rows(keys)
    asked = [*others, *keys]
    found = rows.find(asked)
    numbers = {key: number for number, key in enumerate(keys)}
    assert [int(rows.columns["spent"][at]) if at >= 0 else None for at in found.tolist()] == [
        numbers.get(key) for key in asked
    ]


@given(KEYS, KEYS)
def test_rows_are_the_same_without_numba(keys: list[bytes], others: list[bytes]) -> None:
    here = spent_rows(keys)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiled, "available", lambda: False)
        there = spent_rows(keys)
        assert there.find([*keys, *others]).tolist() == here.find([*keys, *others]).tolist()
    assert here.to_bytes() == there.to_bytes()


def test_digests_are_in_order() -> None:
    keys = [b"user %d" % number for number in range(5_000)]
    digests = sorted(blake2b(key, digest_size=16).digest() for key in keys)
    rows = spent_rows(keys)
    assert rows.to_bytes() == b"".join(digests)
    assert sorted(rows.find(keys).tolist()) == list(range(5_000))
    assert set(rows.find([key + b"0" for key in keys[1_000:2_000]]).tolist()) == {-1}


@pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
def test_digests_that_are_not_spread_evenly_are_found() -> None:
    from fugu.dataflows.state.compiled_digest_search import places_among

    close = [bytes([5] * 9) + number.to_bytes(7, "big") for number in range(3_000)]
    ordered = np.array([bytes(15) + b"\1", *close, b"\xff" * 16], dtype="S16")
    assert places_among(ordered, ordered).tolist() == list(range(len(ordered)))
    assert places_among(ordered[::2].copy(), ordered[1::2].copy()).tolist() == [-1] * 1_501
