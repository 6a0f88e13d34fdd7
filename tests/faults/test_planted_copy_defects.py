"""Each mistake that a copy could hide is planted, and the named test must find it."""

from collections.abc import Callable
from typing import Any

import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.copies import takeover, transaction
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.others import Others
from fugu.dataflows.kafka.native.client import NativeClient
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from tests.faults import test_copy_takeover as tests
from tests.faults.copies import House

Planted = pytest.MonkeyPatch


def without_positions(planted: Planted) -> None:
    planted.setattr(NativeCopyWriter, "send_offsets", lambda *_: None)


def without_a_look_at_the_membership(planted: Planted) -> None:
    planted.setattr("fugu.dataflows.kafka.client.GroupMetadata.is_of", lambda *_: True)


def membership_of_before(planted: Planted) -> None:
    """Asked for when partitions come, and never again."""
    original: Callable[..., None] = Copy.given

    def given(copy: Copy, partitions: Any, member: str) -> None:
        original(copy, partitions, member)
        if not hasattr(copy, "remembered"):
            remembered = copy._member.metadata()
            copy._member.metadata = lambda: remembered  # type: ignore[method-assign]

    planted.setattr(Copy, "given", given)


def restore_to_the_end_of_a_reader(planted: Planted) -> None:
    original = takeover._read_to

    def read(reader: Any, partition: int, bounds: Any, *others: Any) -> None:
        original(reader, partition, reader.bounds([partition])[partition], *others)

    planted.setattr(takeover, "_read_to", read)


def rows_in_flight(planted: Planted) -> None:
    planted.setattr(Copy, "in_flight", property(lambda _: 0, lambda *_: None))


def tables_kept(planted: Planted) -> None:
    planted.setattr(Copy, "_forget", lambda *_: None)


def commit_at_the_end(planted: Planted) -> None:
    original = Copy.close

    def close(copy: Copy) -> None:
        if not copy._left:
            copy.cut()
        original(copy)

    planted.setattr(Copy, "close", close)


def tombstones_on_their_own(planted: Planted) -> None:
    """Old blocks are taken back by another producer, whatever becomes of the new table."""
    original = NativeCopyWriter.put

    def put(writer: NativeCopyWriter, topic: str, partition: int, records: Any) -> None:
        gone = [one for one in records if one[1] is None]
        original(writer, topic, partition, [one for one in records if one[1] is not None])
        if gone:
            other = writers[0].copy_writer("fugu-test-tombstones", 10_000)
            original(other, topic, partition, gone)
            other.acknowledge()
            other.commit()
            other.close()

    writers: list[NativeClient] = []
    made = NativeClient.__init__

    def remembered(client: NativeClient, *arguments: Any) -> None:
        made(client, *arguments)
        writers.append(client)

    planted.setattr(NativeClient, "__init__", remembered)
    planted.setattr(NativeCopyWriter, "put", put)


def tail_not_compared(planted: Planted) -> None:
    planted.setattr(Account, "note", lambda account, outgoing: None)


def others_not_looked_for(planted: Planted) -> None:
    planted.setattr(transaction, "others_between", lambda *_: Others())


DEFECTS: list[tuple[Callable[[Planted], None], Callable[..., None]]] = [
    (without_positions, tests.test_no_membership_but_the_present_one_commits),
    (without_a_look_at_the_membership, tests.test_no_membership_but_the_present_one_commits),
    (
        membership_of_before,
        tests.test_partitions_that_stay_are_not_read_back_when_copies_come_and_go,
    ),
    (
        restore_to_the_end_of_a_reader,
        tests.test_a_restore_waits_for_an_open_transaction_and_reads_what_is_committed_behind_it,
    ),
    (rows_in_flight, tests.test_what_is_on_its_way_is_neither_cut_nor_joined_by_more),
    (
        tables_kept,
        tests.test_closing_commits_nothing_and_the_successor_publishes_the_same_bytes,
    ),
    (
        commit_at_the_end,
        tests.test_closing_commits_nothing_and_the_successor_publishes_the_same_bytes,
    ),
    (tombstones_on_their_own, tests.test_a_generation_that_is_aborted_takes_nothing_back),
    (tail_not_compared, tests.test_noise_that_is_drawn_anew_after_an_abort_stops_the_pipeline),
    (
        others_not_looked_for,
        tests.test_who_commits_state_without_positions_is_found_by_the_owner_and_by_its_successor,
    ),
]

FOUND = (AssertionError, FuguError, pytest.fail.Exception)


@pytest.mark.acceptance
@pytest.mark.parametrize(("plant", "test"), DEFECTS, ids=[plant.__name__ for plant, _ in DEFECTS])
def test_a_planted_defect_is_found(
    plant: Callable[[Planted], None],
    test: Callable[..., None],
    make: Callable[[int], House],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    known: dict[str, Callable[[], Any]] = {
        "house": lambda: make(1),
        "make": lambda: make,
        "monkeypatch": lambda: monkeypatch,
        "caplog": lambda: caplog,
    }
    names = test.__code__.co_varnames[: test.__code__.co_argcount]
    with pytest.MonkeyPatch.context() as planted:
        plant(planted)
        with pytest.raises(FOUND):
            test(**{name: known[name]() for name in names})
