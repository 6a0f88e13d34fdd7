"""A merge takes what its own pipeline has written to the internal log, and nothing else."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fugu.dataflows.base.batches import Batch, Header, Outgoing
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.metrics import FOREIGN_WRITES, Metrics
from fugu.dataflows.flows.log_seal import LogSeal, OwnLog
from fugu.dataflows.flows.own_entries import OwnEntries
from fugu.dataflows.records.published import RELEASE_HEADER, SEAL_HEADER, record_digest
from fugu.dataflows.stages.log_entries import (
    ASKING_KEY,
    COVERED_KEY,
    MOVED_KEY,
    PLANS_KEY,
    POLICIES_KEY,
    Asking,
    Entry,
    MechanismPlan,
    PartitionsMoved,
    PoliciesCovered,
    PolicyChange,
    partition_key,
)
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.window_people import WindowPeople
from fugu.operators.ldp_ids.instruction import Instruction
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret

LOG = "log-id"
Written = tuple[bytes | None, bytes | None, list[Header]]
"""Key, value and headers of a record."""


def scope(name: str = "city", secret: bytes = bytes(32)) -> DrawScope:
    return DrawScope(Secret(secret), name, "uniform", 1, bytes(32))


def own_log(name: str = "city", secret: bytes = bytes(32), log: str = LOG) -> OwnLog:
    return OwnLog(LogSeal(Secret(secret), name, log), scope(name, secret), sealed=True)


OWN = own_log()
FORMER = replace(OWN, sealed=False)
"""The log of a pipeline that a version without seals began."""


def sums(partition: int, tick: int, *amounts: int) -> PartialSums:
    return PartialSums(partition, tick, np.arange(len(amounts)), np.array(amounts, dtype=np.int64))


def named(entry: PartialSums | WindowPeople, own: OwnLog = OWN) -> Written:
    """A record of a version that seals nothing."""
    key = partition_key(entry.partition)
    [name] = own.scope.tick_release_ids(own.seal.log, [key], [entry.part], [entry.tick])
    return key, entry.encoded(), [(RELEASE_HEADER, bytes(name))]


def sealed(record: Written, own: OwnLog = OWN) -> Written:
    key, value, headers = record
    made = own.seal.onto(Outgoing(0, [key], [value or b""], [headers], [0]))
    return key, value, made.headers[0]


def read(
    records: Sequence[Written], own: OwnLog = OWN, metrics: Metrics | None = None
) -> list[tuple[int, Entry]]:
    keys, values, headers = zip(*records, strict=True)
    batch = Batch(0, range(len(keys)), [0] * len(keys), keys, values, headers)
    return OwnEntries("city.partials", own, metrics or Metrics())(batch)


def test_partial_sums_of_another_pipeline_in_the_same_log_do_not_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It has no cap and writes first at every tick; true sums had been dropped as told before."""
    metrics, others = Metrics(), own_log("uncapped")
    records = [sealed(named(sums(0, 7, 27), others), others), sealed(named(sums(0, 7, 2)))]
    for own in (OWN, FORMER):
        [(offset, entry)] = read(records, own, metrics)
        assert offset == 1
        assert isinstance(entry, PartialSums)
        assert entry.sums.tolist() == [2]
    assert metrics.values(FOREIGN_WRITES) == {("city.partials", "0"): 2}
    [warning] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "city.partials, partition 0, offset 0: something else writes to sink.part" in warning
    assert "27" not in warning


@pytest.mark.parametrize(
    "forge",
    [
        lambda own: (own[0], sums(0, 7, 27).encoded(), own[2]),
        lambda own: (b"1", own[1], own[2]),
        lambda own: (own[0], own[1], own[2][:1]),
        lambda own: (own[0], own[1], []),
        lambda own: (own[0], own[1], [own[2][0], (SEAL_HEADER, bytes(32))]),
        lambda own: (own[0], b"rubbish", own[2]),
        lambda own: (b"7", sums(7, 50).encoded(), own[2]),
        lambda own: (None, None, []),
        lambda own: sealed(named(sums(0, 7, 27)), own_log(secret=b"x" * 32)),
        lambda own: sealed(named(sums(0, 7, 27)), own_log(log="another log")),
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
    (PLANS_KEY, MechanismPlan(b"plan")),
    (MOVED_KEY, PartitionsMoved(3, 7)),
    (MOVED_KEY, sums(0, 7, 2)),
    (ASKING_KEY, Asking(7, Instruction(1, 2))),
]


@pytest.mark.parametrize(("key", "entry"), ENTRIES)
def test_every_kind_of_entry_needs_a_seal_where_all_are_sealed(key: bytes, entry: Entry) -> None:
    bare: Written = key, entry.encoded(), []
    assert read([bare]) == []
    for own in (OWN, FORMER):
        [(_, found)] = read([sealed(bare)], own)
        assert found.encoded() == entry.encoded()


def test_entries_that_the_version_before_wrote_are_read_by_their_ids() -> None:
    asking = OWN.scope.tick_release_ids(LOG, [ASKING_KEY], [0], [7])
    records: list[Written] = [
        named(sums(0, 7, 2)),
        named(WindowPeople(1, 7, part=1, parts=2)),
        (POLICIES_KEY, PolicyChange(b"{}", 3).encoded(), [(RELEASE_HEADER, b"id")]),
        (COVERED_KEY, PoliciesCovered(9).encoded(), []),
        (PLANS_KEY, MechanismPlan(b"plan").encoded(), []),
        (ASKING_KEY, Asking(7, Instruction(1, 2)).encoded(), [(RELEASE_HEADER, bytes(asking[0]))]),
    ]
    assert [offset for offset, _ in read(records, FORMER)] == list(range(6))


@pytest.mark.parametrize(
    "record",
    [
        named(sums(0, 7, 2), own_log("uncapped")),
        named(sums(0, 7, 2), own_log(log="another log")),
        (b"0", sums(0, 8, 2).encoded(), named(sums(0, 7, 2))[2]),
        (b"1", sums(1, 7, 2).encoded(), named(sums(0, 7, 2))[2]),
        (MOVED_KEY, sums(0, 7, 2).encoded(), []),
        (MOVED_KEY, PartitionsMoved(3, 7).encoded(), []),
        (b"0", b"rubbish", []),
        (PLANS_KEY, sums(0, 7, 2).encoded(), []),
    ],
)
def test_others_do_not_count_in_a_log_that_the_version_before_began_either(
    record: Written,
) -> None:
    assert read([record], FORMER) == []


def test_an_own_entry_that_cannot_be_read_stops_the_merge() -> None:
    with pytest.raises(FuguError, match=r"city\.partials, partition 0, offset 0 was not "):
        read([sealed((b"0", b"rubbish", []))])


def test_the_first_foreign_record_is_said_the_tenth_and_so_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    for _ in range(25):
        read([(b"0", b"rubbish", [])], metrics=metrics)
    counts = [one.getMessage().split(" records")[0].split()[-1] for one in caplog.records]
    assert counts == ["1", "10"]


def test_a_seal_changes_no_digest_so_that_a_replay_knows_what_the_version_before_wrote() -> None:
    bare = named(sums(0, 7, 2))
    key, value, headers = sealed(bare)
    assert value is not None
    assert headers != bare[2]
    assert record_digest(key, value, headers, 5) == record_digest(key, value, bare[2], 5)


def test_what_was_sealed_before_the_key_of_draws_changed_stays_own() -> None:
    rotated = replace(OWN, scope=scope(secret=b"y" * 32))
    assert len(read([sealed(named(sums(0, 7, 2)))], rotated)) == 1


def test_a_seal_is_pinned() -> None:
    """Another one would make all entries of a log those of others."""
    seal = LogSeal(Secret(bytes(32)), "city", LOG).of(b"0", b"value")
    assert seal == b"c446702641f9bd58b4d3360f245d967d"
