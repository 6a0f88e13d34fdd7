"""The compiled hash is the one that Python hashes its strings by."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.columns import ByteColumn

pytestmark = pytest.mark.skipif(
    not compiled.available() or sys.hash_info.algorithm != "siphash13",
    reason="needs the extra fast, and a Python that hashes by SipHash-1-3",
)
CONTENTS = [bytes(range(length)) for length in range(1, 80)] + [b"\xff" * 300, bytes(64)]


def test_the_hash_by_a_key_of_zeros_is_pythons() -> None:
    from fugu.dataflows.state.compiled_key_table import hash_keys

    column, zeros = ByteColumn.of(CONTENTS), np.zeros(2, dtype=np.uint64)
    tags = np.empty(len(column), dtype=np.uint64)
    hash_keys(zeros, column.content, column.begins, column.lengths, tags)
    assert tags.tolist() == [hashed >> 32 for hashed in _hashed_by_python()]


def test_another_key_gives_other_hashes() -> None:
    from fugu.dataflows.state.compiled_key_table import hash_keys

    column = ByteColumn.of(CONTENTS)
    tags = np.empty((3, len(column)), dtype=np.uint64)
    for secret, row in zip(([0, 0], [1, 0], [0, 1]), tags, strict=True):
        words = np.array(secret, dtype=np.uint64)
        hash_keys(words, column.content, column.begins, column.lengths, row)
    assert all(len(set(column)) == 3 for column in tags.T.tolist())


def _hashed_by_python() -> list[int]:
    asked = f"print([hash(content) % 2**64 for content in {CONTENTS!r}])"
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    answer = subprocess.check_output([sys.executable, "-c", asked], env=environment, text=True)
    return [int(number) for number in answer.strip()[1:-1].split(",")]
