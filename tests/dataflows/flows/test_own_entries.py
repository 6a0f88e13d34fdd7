"""A merge takes what its own pipeline has written to the internal log, and nothing else."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest

from fugu.dataflows.base.batches import Batch, Header, Outgoing
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.metrics import FOREIGN_WRITES, Metrics
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.flows.own_entries import OwnEntries
from fugu.dataflows.records.published import RELEASE_HEADER, SEAL_HEADER
from fugu.dataflows.stages.log_entries import (
    ASKING_KEY,
    COVERED_KEY,
    MOVED_KEY,
    PLANS_KEY,
    POLICIES_KEY,
    Asking,
    Entry,
    MechanismPlan,
    PartialSums,
    PartitionsMoved,
    PoliciesCovered,
    PolicyChange,
    partition_key,
)
from fugu.dataflows.stages.windows import WindowPeople
from fugu.operators.keys import Keys
from fugu.operators.ldp_ids.reporting import Instruction
from fugu.operators.randomness import Secret

LOG = "log-id"
Written = tuple[bytes | None, bytes | None, list[Header], int]
"""Key, value, headers and timestamp of a record."""


def seal_of(name: str = "city", secret: bytes = bytes(32), log: str = LOG) -> LogSeal:
    return LogSeal(Secret(secret), name, log)


OWN = seal_of()


def sums(partition: int, tick: int, *amounts: int) -> PartialSums:
    return PartialSums(partition, tick, np.arange(len(amounts)), np.array(amounts, dtype=np.int64))


def named(entry: PartialSums) -> Written:
    """A record without a seal."""
    name = b"%d of %d" % (entry.tick, entry.partition)
    return partition_key(entry.partition), entry.encoded(), [(RELEASE_HEADER, name)], 8_000


def sealed(record: Written, own: LogSeal = OWN) -> Written:
    key, value, headers, timestamp = record
    made = own.onto(Outgoing(0, [key], [value or b""], [headers], [timestamp]))
    return key, value, made.headers[0], timestamp


def read(
    records: Sequence[Written], own: LogSeal = OWN, metrics: Metrics | None = None
) -> list[tuple[int, Entry]]:
    keys, values, headers, timestamps = zip(*records, strict=True)
    batch = Batch(0, range(len(keys)), timestamps, keys, values, headers)
    return OwnEntries("city.partials", own, metrics or Metrics())(batch)


def test_partial_sums_of_another_pipeline_in_the_same_log_do_not_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It has no cap and writes first at every tick; true sums had been dropped as told before."""
    metrics = Metrics()
    records = [sealed(named(sums(0, 7, 27)), seal_of("uncapped")), sealed(named(sums(0, 7, 2)))]
    [(offset, entry)] = read(records, OWN, metrics)
    assert offset == 1
    assert isinstance(entry, PartialSums)
    assert entry.sums.tolist() == [2]
    assert metrics.values(FOREIGN_WRITES) == {("city.partials", "0"): 1}
    [warning] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "city.partials, partition 0, offset 0: something else writes to sink.part" in warning
    assert "27" not in warning


@pytest.mark.parametrize(
    "forge",
    [
        lambda own: (own[0], sums(0, 7, 27).encoded(), *own[2:]),
        lambda own: (b"1", *own[1:]),
        lambda own: (*own[:3], own[3] + 1),
        lambda own: (*own[:2], own[2][:1], own[3]),
        lambda own: (*own[:2], own[2][1:], own[3]),
        lambda own: (*own[:2], [], own[3]),
        lambda own: (*own[:2], [own[2][0], (SEAL_HEADER, bytes(32))], own[3]),
        lambda own: (*own[:2], [own[2][0], (SEAL_HEADER, b"")], own[3]),
        lambda own: (*own[:2], [(RELEASE_HEADER, b"another"), own[2][1]], own[3]),
        lambda own: (*own[:2], [*own[2], own[2][1]], own[3]),
        lambda own: (*own[:2], own[2][::-1], own[3]),
        lambda own: (*own[:2], [("of others", None), *own[2]], own[3]),
        lambda own: (*own[:2], [own[2][0], (SEAL_HEADER, None)], own[3]),
        lambda own: (own[0], b"rubbish", *own[2:]),
        lambda own: (b"7", sums(7, 50).encoded(), *own[2:]),
        lambda own: (None, None, [], 0),
        lambda own: sealed(named(sums(0, 7, 27)), seal_of(secret=b"x" * 32)),
        lambda own: sealed(named(sums(0, 7, 27)), seal_of(log="another log")),
    ],
)
def test_nobody_without_the_secret_makes_an_entry_that_counts(forge: object) -> None:
    own = sealed(named(sums(0, 7, 2)))
    assert callable(forge)
    assert [offset for offset, _ in read([forge(own), own, forge(own)])] == [1]


ENTRIES = [
    (partition_key(0), sums(0, 7, 2)),
    (partition_key(1), WindowPeople(1, 7, [b"a"], [b"[]"])),
    (POLICIES_KEY, PolicyChange(b"{}", 3)),
    (COVERED_KEY, PoliciesCovered(9)),
    (PLANS_KEY, MechanismPlan(b"plan", 7)),
    (MOVED_KEY, PartitionsMoved(3, 7)),
    (MOVED_KEY, sums(0, 7, 2)),
    (ASKING_KEY, Asking(7, Instruction(1, 2))),
]


@pytest.mark.parametrize(("key", "entry"), ENTRIES)
def test_every_kind_of_entry_needs_a_seal(key: bytes, entry: Entry) -> None:
    bare: Written = key, entry.encoded(), [], 8_000
    assert read([bare]) == []
    [(_, found)] = read([sealed(bare)])
    assert found.encoded() == entry.encoded()


def test_an_own_entry_that_cannot_be_read_stops_the_merge() -> None:
    with pytest.raises(FuguError, match=r"city\.partials, partition 0, offset 0 was not "):
        read([sealed((b"0", b"rubbish", [], 0))])


def test_the_first_foreign_record_is_said_the_tenth_and_so_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    for _ in range(25):
        read([(b"0", b"rubbish", [], 0)], metrics=metrics)
    counts = [one.getMessage().split(" records")[0].split()[-1] for one in caplog.records]
    assert counts == ["1", "10"]


def test_what_copies_write_at_timestamp_0_is_read_back_as_they_write_it() -> None:
    key, value, headers, _ = sealed((b"0", sums(0, 7, 2).encoded(), [], 0))
    assert len(read([(key, value, headers, 1)])) == 1


def test_what_was_sealed_before_the_key_of_draws_changed_stays_own() -> None:
    keys = Keys.from_root(Secret(bytes(32)))
    before, after = (LogSeal(one.pseudonyms, "city", LOG) for one in (keys, keys.rotated()))
    assert len(read([sealed(named(sums(0, 7, 2)), before)], after)) == 1


def test_a_seal_is_pinned() -> None:
    """Another one would make all entries of a log those of others."""
    seal = seal_of().of(b"0", b"value", [(RELEASE_HEADER, b"id")], 7)
    assert seal == b"fdc62113d28dc44ec47902e873f8f4d8"
