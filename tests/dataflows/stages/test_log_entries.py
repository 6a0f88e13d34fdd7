"""Entries of the internal log, as they are written and read."""

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.stages.log_entries import (
    Entry,
    PoliciesCovered,
    PolicyChange,
    read_entry,
)
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_block import written


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
