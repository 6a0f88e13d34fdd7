"""Releases that leave as columns are those that a loop makes, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.publishing.envelope import KeyPolicy
from fugu.dataflows.records.json_fields import WORTH_JSON_WRITING
from fugu.dataflows.records.published import record_digest, release_id_of
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Releases
from tests.dataflows.publishing.random_releases import (
    DOMAINS,
    as_read,
    both_ways,
    publisher_of,
    random_releases,
)

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")

POLICIES: tuple[KeyPolicy, ...] = ("pseudonym", "original", "none")
SIZES = (0, 1, 17, WORTH_JSON_WRITING - 1, WORTH_JSON_WRITING, 700)


def compiled_and_not(
    name: str, rows: int, policy: KeyPolicy, patch: pytest.MonkeyPatch, seed: int = 1
) -> tuple[Outgoing, Outgoing]:
    rng = np.random.default_rng([seed, rows])
    lists, columns = both_ways(random_releases(name, rows, rng), rng)
    fast = publisher_of(DOMAINS[name], policy).releases(columns)
    with patch.context() as without:
        without.setattr(compiled, "available", lambda: False)
        slow = publisher_of(DOMAINS[name], policy).releases(lists)
    return fast, slow


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("name", DOMAINS)
def test_columns_have_the_bytes_of_lists(
    name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        fast, slow = compiled_and_not(name, rows, "pseudonym", monkeypatch, seed)
        assert as_read(fast) == as_read(slow)
        assert isinstance(fast.values, ByteColumn) == (rows >= WORTH_JSON_WRITING)
        assert not isinstance(slow.values, ByteColumn)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("rows", SIZES)
def test_keys_are_the_same_under_every_policy(
    policy: KeyPolicy, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow = compiled_and_not("plain", rows, policy, monkeypatch)
    assert as_read(fast) == as_read(slow)
    assert list(fast.keys) == [fast.keys[row] for row in range(rows)]


def test_lists_are_written_by_compiled_code_too() -> None:
    rng = np.random.default_rng(2)
    lists, columns = both_ways(random_releases("symbols", 300, rng), rng)
    publisher = publisher_of(DOMAINS["symbols"], "pseudonym")
    assert as_read(publisher.releases(lists)) == as_read(publisher.releases(columns))
    assert isinstance(publisher.releases(lists).values, ByteColumn)


def test_a_replay_recognises_records_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def replayed(outgoing: Outgoing) -> dict[bytes | None, bytes]:
        columns = outgoing.keys, outgoing.values, outgoing.headers, outgoing.timestamps
        return {
            release_id_of(headers): record_digest(key, value, headers, timestamp)
            for key, value, headers, timestamp in zip(*columns, strict=True)
        }

    fast, slow = compiled_and_not("numbers 10", 200, "pseudonym", monkeypatch)
    assert replayed(fast) == replayed(slow)
    assert len(replayed(fast)) == 200
    some = [7, 0, 199]
    assert as_read(fast.at(some)) == [as_read(slow)[row] for row in some]


@pytest.mark.parametrize("size", [5, 500])
@pytest.mark.parametrize("name", ["symbols", "plain", "batches"])
def test_a_symbol_that_does_not_exist_is_never_written(name: str, size: int) -> None:
    good = random_releases(name, size, np.random.default_rng(3))
    bad = good.values.copy()
    bad.flat[-1] = 4
    with pytest.raises(IndexError):
        DOMAINS[name].write(Releases(bad, good.annotations, good.kinds))


@pytest.mark.parametrize("size", [5, 500])
@pytest.mark.parametrize("name", DOMAINS)
def test_a_kind_that_is_not_published_has_no_end(name: str, size: int) -> None:
    good = random_releases(name, size, np.random.default_rng(4))
    kinds = np.zeros(size, dtype=np.int64)
    kinds[-1] = 2
    with pytest.raises(IndexError):
        DOMAINS[name].write(Releases(good.values, good.annotations, kinds))


@pytest.mark.parametrize("name", DOMAINS)
def test_releases_that_cannot_be_written_to_are_written(name: str) -> None:
    releases = random_releases(name, 100, np.random.default_rng(5))
    written = list(DOMAINS[name].write(releases))
    releases.values.flags.writeable = False
    assert list(DOMAINS[name].write(releases)) == written


@pytest.mark.acceptance
def test_nothing_is_read_or_written_outside_of_an_array(tmp_path: Path) -> None:
    program = """
import numpy as np
from fugu.dataflows.records.compiled_writing import write_symbols
from fugu.operators.columns import ByteColumn
from tests.dataflows.publishing.random_releases import *
for name, domain in DOMAINS.items():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lists, columns = both_ways(random_releases(name, 64 + 31 * seed, rng), rng)
        publisher = publisher_of(domain, "pseudonym")
        assert as_read(publisher.releases(columns)) == as_read(publisher.releases(lists))
text = ByteColumn.of([b"1"])
short = ByteColumn(text.content, text.begins, text.lengths + 1)
try:
    write_symbols(b"", short, np.zeros((1, 1)), text, np.zeros(1))
except IndexError:
    print("checked")
"""
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "FUGU_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(["", *sys.path]),
    }
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert answer.stdout == "checked\n"
