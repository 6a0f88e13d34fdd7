"""Entries of the internal log, as they are written and read."""

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.stages.log_entries import (
    Entry,
    PartialSums,
    PoliciesCovered,
    PolicyChange,
    read_entry,
)
from fugu.dataflows.state.row_block import written
from fugu.operators.mechanism import Integers
from fugu.operators.wevent.allocation import LARGEST_BINS


@pytest.mark.parametrize(
    "entry", [PolicyChange(b"{}", 7), PolicyChange(b"", None), PoliciesCovered(2**40)]
)
def test_what_was_written_is_read(entry: Entry) -> None:
    assert read_entry(entry.encoded(), "log") == entry


def test_partial_sums_are_told_apart() -> None:
    sums = PartialSums(3, 5, np.array([1, 4]), np.array([-2, 9]), skipped=2)
    read = read_entry(sums.encoded(), "log")
    assert isinstance(read, PartialSums)
    assert (read.partition, read.tick, read.sums.tolist()) == (3, 5, [-2, 9])


@pytest.mark.parametrize("content", [None, b"", b"{}", written({"other": 1}, [])])
def test_what_others_write_is_refused_by_its_place(content: bytes | None) -> None:
    with pytest.raises(FuguError, match="log, offset 3 was not written by this pipeline"):
        read_entry(content, "log, offset 3")


# Partial sums as the log holds them.


MEGABYTE = 1_000_000
"""A little less than what a topic takes unless it is told otherwise."""
RANDOM = np.random.default_rng(1)


def partial(groups: Integers, sums: Integers) -> PartialSums:
    return PartialSums(2, 1_959_712, groups, sums)


@pytest.mark.parametrize("most", [1, 127, 128, 40_000, 2**31 - 1, 2**62])
@pytest.mark.parametrize("groups", [[], [0], [5, 6, 300, 70_000], [131_071]])
def test_what_is_read_is_what_was_written(groups: list[int], most: int) -> None:
    sums = RANDOM.integers(-most, most, size=len(groups), endpoint=True)
    one = partial(np.array(groups, dtype=np.int64), sums)
    again = read_entry(one.encoded(), "log")
    assert isinstance(again, PartialSums)
    assert (again.partition, again.tick) == (2, 1_959_712)
    assert again.groups.tolist() == groups
    assert again.sums.tolist() == sums.tolist()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99, 1.0])
def test_sums_of_as_many_groups_as_there_may_be_fit_a_message(share: float) -> None:
    groups = np.flatnonzero(RANDOM.random(LARGEST_BINS) < share)
    sums = RANDOM.integers(-(2**31), 2**31, size=len(groups))
    assert len(partial(groups, sums).encoded()) < MEGABYTE


@pytest.mark.parametrize("gap", [1, 200])
def test_sums_of_any_size_of_as_many_groups_as_may_be_summed_fit_a_message(gap: int) -> None:
    groups = np.arange(90_000)
    groups[45_000:] += gap
    assert len(partial(groups, np.full(90_000, 2**62)).encoded()) < MEGABYTE


@pytest.mark.parametrize("content", [None, b"", b'{"tick": 3}', written({"tick": 3}, [])])
def test_what_somebody_else_wrote_is_refused(content: bytes | None) -> None:
    with pytest.raises(FuguError, match=r"^topic log, offset 7 was not written by this pipeline"):
        read_entry(content, "topic log, offset 7")
