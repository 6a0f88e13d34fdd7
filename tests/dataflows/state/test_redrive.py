"""Read back what was driven again, and what is to be published of it, as it was written."""

from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.redrive import Driven, Output, Tally, due_file, due_records

RELEASES: list[tuple[Output, Outgoing]] = [
    (
        "sink",
        Outgoing(3, [b"anna", None], [b"{}", b""], [[("id", b"1")], [("id", b"")]], [5, -7]),
    ),
    ("ledger", Outgoing(0, [b"k"], [b"v"], [[("id", b"2"), ("by", b"fugu")]], [2**62])),
]


def write_due(folder: Path) -> int:
    with due_file(folder) as due:
        due.add("sink", Outgoing(1, [], [], [], []))
        for output, outgoing in RELEASES:
            due.add(output, outgoing)
    return due.count


def test_records_come_back_to_the_byte_and_in_their_order(tmp_path: Path) -> None:
    count = write_due(tmp_path)
    assert count == len(RELEASES), "nothing is nothing to publish"
    for (output, found), (name, expected) in zip(
        due_records(tmp_path, count), RELEASES, strict=True
    ):
        assert (output, found.partition) == (name, expected.partition)
        for column in ("keys", "values", "headers", "timestamps"):
            assert list(getattr(found, column)) == list(getattr(expected, column))


def test_a_file_that_lost_its_end_is_refused(tmp_path: Path) -> None:
    count = write_due(tmp_path)
    path = tmp_path / "due"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StartRefused, match="shorter than it was"):
        list(due_records(tmp_path, count))


def test_what_was_driven_comes_back_and_damage_is_noticed(tmp_path: Path) -> None:
    assert not Driven.read(tmp_path).offsets
    offsets = {2: np.array([4, 2**40]), 0: np.array([], dtype=np.int64)}
    tally = Tally(records=2, released=1, refused={"too_many_keys": 1})
    Driven(offsets, tally, {"sink": {"0": 17}}, 3, 1).write(tmp_path)
    found = Driven.read(tmp_path)
    assert {p: own.tolist() for p, own in found.offsets.items()} == {2: [4, 2**40], 0: []}
    assert (found.tally, found.begins, found.due) == (tally, {"sink": {"0": 17}}, 3)
    found.require_number(1, tmp_path)
    with pytest.raises(StartRefused, match="as a whole"):
        Driven.read(tmp_path / "elsewhere").require_number(1, tmp_path)
    path = tmp_path / "driven"
    path.write_bytes(path.read_bytes().replace(b'"due":3', b'"due":2'))
    with pytest.raises(StartRefused, match="checksum"):
        Driven.read(tmp_path)
