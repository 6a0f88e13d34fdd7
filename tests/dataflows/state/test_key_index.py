"""Rows by keys: both indices are what a dict is, however keys collide."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.state.key_index import DictKeyIndex, KeyIndex
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Words

KEY = st.one_of(st.binary(max_size=3), st.binary(max_size=40), st.binary(min_size=7, max_size=9))
STEP = st.tuples(st.sampled_from(["find", "add", "rename"]), st.lists(KEY, max_size=12))


def compiled_index() -> KeyIndex:
    from fugu.dataflows.state.buffer_key_index import BufferKeyIndex

    return BufferKeyIndex()


def weakly_hashed(distinct: int) -> KeyIndex:
    """Return a compiled index whose keys have so many hashes, so that they meet in runs."""
    from fugu.dataflows.state.buffer_key_index import BufferKeyIndex

    class Weak(BufferKeyIndex):
        def _tags(self, column: ByteColumn) -> Words:
            return (super()._tags(column) % np.uint64(distinct)) + np.uint64(2**32 - distinct)

        def row_of(self, key: bytes) -> int:
            return int(self.find([key])[0])

    return Weak()


NEEDS_NUMBA = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
INDICES = [
    pytest.param(DictKeyIndex, id="dict"),
    pytest.param(compiled_index, id="compiled", marks=NEEDS_NUMBA),
    pytest.param(lambda: weakly_hashed(1), id="one hash", marks=NEEDS_NUMBA),
    pytest.param(lambda: weakly_hashed(5), id="five hashes", marks=NEEDS_NUMBA),
]
indices = pytest.mark.parametrize("new", INDICES)


class Model:
    """Do with a dict what an index does."""

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}

    def find(self, keys: list[bytes]) -> list[int]:
        return [self.rows.get(key, -1) for key in keys]

    def add(self, keys: list[bytes]) -> list[int]:
        return [self.rows.setdefault(key, len(self.rows)) for key in keys]

    def rename(self, rows: list[int], keys: list[bytes]) -> None:
        before = {row: key for key, row in self.rows.items()}
        for row in rows:
            del self.rows[before[row]]
        self.rows.update(zip(keys, rows, strict=True))

    def in_order(self) -> list[bytes]:
        return sorted(self.rows, key=self.rows.__getitem__)


def follow(index: KeyIndex, steps: list[tuple[str, list[bytes]]]) -> Model:
    """Do steps with an index and with a dict; they give the same."""
    model = Model()
    for step, keys in steps:
        if step == "find":
            assert index.find(keys).tolist() == model.find(keys)
        elif step == "add":
            assert index.add(ByteColumn.of(keys)).tolist() == model.add(keys)
        else:
            new = [key for key in dict.fromkeys(keys) if key not in model.rows]
            rows = list(range(0, len(model.rows), 2))[: len(new)]
            index.rename(np.array(rows, dtype=np.int64), new[: len(rows)])
            model.rename(rows, new[: len(rows)])
        assert index.keys_of(np.arange(len(index))).joined() == b"".join(model.in_order())
    assert list(index.keys_of(np.arange(len(index)))) == model.in_order()
    assert [index.row_of(key) for key in model.in_order()] == list(range(len(index)))
    return model


@indices
@given(st.lists(STEP, max_size=30))
def test_an_index_is_a_dict(
    new: Callable[[], KeyIndex], steps: list[tuple[str, list[bytes]]]
) -> None:
    follow(new(), steps)


@indices
def test_what_was_found_once_is_found_in_a_table_that_grew(new: Callable[[], KeyIndex]) -> None:
    index, keys = new(), [b"user %d" % number for number in range(700)]
    for first in range(0, len(keys), 50):
        index.add(keys[first : first + 50])
        assert index.find(keys[: first + 50]).tolist() == list(range(first + 50))
    assert index.find([b"user", b"user 7000", b""]).tolist() == [-1, -1, -1]
    assert list(index.keys_of(np.array([699, 0, 0]))) == [keys[699], keys[0], keys[0]]


@indices
def test_long_keys_that_differ_in_their_last_byte_only_are_different(
    new: Callable[[], KeyIndex],
) -> None:
    index = new()
    keys = [b"k" * length + end for length in (0, 1, 7, 8, 100_000) for end in (b"", b"a", b"b")]
    distinct = list(dict.fromkeys(keys))
    assert index.add(keys).tolist() == [distinct.index(key) for key in keys]
    assert list(index.keys_of(np.arange(len(index)))) == distinct


@indices
def test_keys_of_no_row_are_refused(new: Callable[[], KeyIndex]) -> None:
    index = new()
    index.add([b"anna"])
    with pytest.raises(IndexError):
        index.keys_of(np.array([1]))


@NEEDS_NUMBA
def test_rows_that_are_renamed_again_and_again_do_not_fill_the_memory() -> None:
    from fugu.dataflows.state.buffer_key_index import BufferKeyIndex

    index = BufferKeyIndex()
    index.add([b"%04d" % number for number in range(100)])
    for number in range(3_000):
        index.rename(np.array([number % 100]), [b"other %06d" % number])
    assert len(index._held) < 5_000
    assert index.row_of(b"other 002999") == 99
    assert index.row_of(b"0000") == -1


@NEEDS_NUMBA
def test_each_index_hashes_by_a_key_of_its_own() -> None:
    from fugu.dataflows.state.buffer_key_index import BufferKeyIndex

    column = ByteColumn.of([b"anna"])
    assert len({int(BufferKeyIndex()._tags(column)[0]) for _ in range(8)}) > 1


def fuzz(seed: int, rounds: int) -> None:
    """Follow steps at random, with keys that lie anywhere in a column."""
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        pool = [rng.bytes(int(length)) for length in rng.integers(0, 20, size=30)]
        steps = [
            (str(rng.choice(["find", "add", "rename"])), [pool[place] for place in places])
            for places in (rng.integers(30, size=rng.integers(12)) for _ in range(20))
        ]
        follow(weakly_hashed(1 + number % 4) if number % 2 else compiled_index(), steps)


@pytest.mark.acceptance
@NEEDS_NUMBA
def test_nothing_is_read_or_written_outside_of_arrays(tmp_path: Path) -> None:
    """Compile with checks of all places. The last line shows that there are checks."""
    script = """
import numpy as np
from tests.dataflows.state.test_key_index import fuzz
from fugu.dataflows.kafka.partitioner import partitions_of
from fugu.dataflows.state.compiled_key_table import hash_keys
from fugu.dataflows.state.spent_rows import SpentRows
fuzz(seed=7, rounds=60)
keys = [b"k" * length for length in range(1, 200)]
spent = SpentRows({}).joined(keys, {})
assert sorted(spent.find(keys).tolist()) == list(range(199))
assert (spent.find([b"a", b"b" * 300]) < 0).all()
partitions_of([b"", *keys], 7, "murmur2")
one, tags = np.array([1]), np.zeros(1, dtype=np.uint64)
content = np.frombuffer(b"anna", dtype=np.uint8)
try:
    hash_keys(np.zeros(2, dtype=np.uint64), content, one, one * 4, tags)
except IndexError:
    print("checked")
"""
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "FUGU_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(["", *sys.path]),
    }
    command = [sys.executable, "-c", script]
    answer = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=300
    )
    assert answer.stdout == "checked\n"
